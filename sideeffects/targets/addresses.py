"""Which machines may be called? Only what every network calls public, whatever way it is written."""

import ipaddress
import socket
import unicodedata
from collections.abc import Collection
from urllib.parse import urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# What some version of `is_global` lets through, and what cloud providers put on public-looking addresses.
_NEVER = [
    ipaddress.ip_network(text)
    for text in (
        "192.0.0.0/24",  # protocol assignments; Oracle's metadata
        "192.88.99.0/24",  # 6to4 relays
        "168.63.129.16/32",  # Azure's platform
        "::/96",  # IPv4-compatible
        "64:ff9b:1::/48",  # local NAT64
        "100::/64",  # discard
        "2001:db8::/32",  # documentation
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
        "fec0::/10",  # site-local
        "fc00::/7",  # unique local; Amazon's metadata
    )
]
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_ISATAP = (0x5EFE, 0x0200_5EFE)


class HostRefusedError(Exception):
    """A host may not be called; `host` is as it was written."""

    def __init__(self, host: str, why: str) -> None:
        self.host, self.why = host, why
        super().__init__(f"{host} may not be called: {why}.")


class HostUnknownError(Exception):
    """No address is known for this host now."""

    def __init__(self, host: str) -> None:
        self.host = host
        super().__init__(f"No address is known for {host}.")


def check_address(address: str, *, host: str) -> None:
    """Let through an address of the public network; raises HostRefusedError."""
    for inner in _unwrapped(ipaddress.ip_address(address)):
        if not inner.is_global or inner.is_multicast or inner.is_reserved or any(inner in net for net in _NEVER):
            raise HostRefusedError(host, "its address is not one of the public network")


def _unwrapped(address: Address) -> list[Address]:
    """Return the address itself, or those that it carries inside."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped:
        return [address.ipv4_mapped]
    if address.sixtofour:
        return [address.sixtofour]
    if address.teredo:
        return list(address.teredo)
    low = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    if address in _NAT64:
        return [low]
    isatap = (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP
    return [address, low] if isatap else [address]


def resolved(host: str, port: int, *, allowed: Collection[str]) -> list[str]:
    """Return the addresses behind a host, each of which may be called.

    `allowed` lists exact `host:port` that may be called whatever their address. Raises HostRefusedError where any of
    the addresses may not, HostUnknownError where there is none.
    """
    addresses = _look_up(host, port)
    if f"{host.lower()}:{port}" not in allowed:
        for address in addresses:
            check_address(address, host=host)
    return addresses


def _look_up(host: str, port: int) -> list[str]:
    plain = unicodedata.normalize("NFKC", host).strip("[]").rstrip(".")
    numeric = _numeric(plain)
    if numeric:
        return [numeric]
    try:
        found = socket.getaddrinfo(plain, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise HostUnknownError(host) from None
    addresses = dict.fromkeys(str(entry[4][0]) for entry in found)
    if not addresses:
        raise HostUnknownError(host)
    return list(addresses)


def _numeric(host: str) -> str:
    """Return the address that a spelling stands for, as the C library reads it: `0x7f.1` is 127.0.0.1."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(host)) if host and not host[-1].isspace() else ""
    except (OSError, UnicodeError):
        return ""


def is_this_machine(url: str) -> bool:
    """Say whether an address, as it is written, leads to this very machine."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    numeric = _numeric(host)
    return host.rstrip(".").casefold() == "localhost" or bool(numeric and ipaddress.ip_address(numeric).is_loopback)


def check_url(url: str, *, allowed: Collection[str]) -> None:
    """Let through the address of a target: https, or http where it is excepted; raises HostRefusedError.

    Raises HostUnknownError where the name leads nowhere.
    """
    host, port = check_written(url, allowed=allowed)
    resolved(host, port, allowed=allowed)


def check_written(url: str, *, allowed: Collection[str]) -> tuple[str, int]:
    """Let through an address as far as its spelling tells, and return host and port; raises HostRefusedError."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)
    except ValueError:
        raise HostRefusedError(url, "it is no address") from None
    host = parts.hostname or ""
    if parts.scheme not in {"https", "http"} or not host or not port:
        raise HostRefusedError(url, "only https addresses can be called")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment or "#" in url:
        raise HostRefusedError(host, "its address holds more than a host and a path")
    if any(segment in {".", ".."} for segment in parts.path.split("/")) or not url.isascii() or "\\" in url:
        raise HostRefusedError(host, "its address can be read in more than one way")
    if parts.scheme == "http" and f"{host}:{port}" not in allowed:
        raise HostRefusedError(host, "without TLS its answers, and our token, could be read by others")
    numeric = _numeric(host)
    if numeric and f"{host.lower()}:{port}" not in allowed:
        check_address(numeric, host=host)
    return host, port
