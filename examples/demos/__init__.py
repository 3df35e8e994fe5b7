"""The demos: a simulated Cortex-M4, an engine without a key, the owner (`make demo`, `make demo-client-aided`)."""
