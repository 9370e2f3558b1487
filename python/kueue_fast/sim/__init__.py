"""The simulator: a virtual clock, arrivals and run times around the same engine, lifecycle and jobs as a live process."""
