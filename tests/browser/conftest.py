"""What do these tests borrow? The sandbox as a registered target."""

from tests.integration.external.conftest import crm, sandbox_process

__all__ = ["crm", "sandbox_process"]
