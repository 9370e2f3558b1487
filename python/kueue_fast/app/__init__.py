"""The live process: the engine and the controllers around it, on a cluster."""
