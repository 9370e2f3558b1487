"""Where actions go: the embedded cluster in memory."""
