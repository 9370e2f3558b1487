"""The simulator: a virtual clock, arrivals and run times around the engine, lifecycle and jobs of a live process."""
