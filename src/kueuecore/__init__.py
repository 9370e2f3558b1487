"""The compiled kernel: Kueue's scheduling decisions on resident int64 arrays."""
