"""What Kueue's controllers do to an object, as pure functions: `(object or view, now) -> new object or action`."""
