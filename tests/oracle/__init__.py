"""A slow scheduler in plain Python: it says what is right, and the kernel is compared with it.

It works on a scenario's plain dicts, as the conformance corpus holds them, and shares no code with `kueue_fast`.
Entry points: `tests.oracle.scenario` (run, normalise, unsupported), `tests.oracle.forest` (quota trees alone),
`tests.oracle.generate` (seeded random scenarios), `tests.oracle.strategies` (hypothesis).
"""
