"""Settings of a process, validated when it starts, and helpers of every process: logging context, periodic threads.

Objects built from settings are made by the packages that use them.
"""
