"""Machines with agents, and the reservations of their capacity."""
