"""The installation itself: its processes, the counters of its caches, the cursors of its event sinks."""
