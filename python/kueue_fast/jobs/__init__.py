"""User objects that Kueue manages: one module an integration, pure functions around them."""
