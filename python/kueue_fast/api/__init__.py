"""Wire structs of Kubernetes and Kueue objects, and their decoding. No logic beyond that."""
