"""The call machine: one logical model request with its retries and fallbacks, whoever asked for it."""
