"""Which HTTP status does each refusal become? One table for the API and for pages."""
