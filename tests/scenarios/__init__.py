"""Stories and properties over the simulated engine: the real core and a real store, no queue, no threads, no clock."""
