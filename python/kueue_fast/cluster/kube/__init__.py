"""A live cluster: the only code that speaks to a Kubernetes API server."""
