class ControlPlaneError(Exception):
    """A control plane that cannot be built or started, in words for the person who started it."""
