"""Is no inner machine ever called, however its address is written? (X12)"""

import socket

import pytest

from sideeffects.targets.addresses import HostRefusedError, HostUnknownError, check_address, check_url, resolved
from sideeffects.targets.answers import Kind
from sideeffects.targets.http import Call, call

INNER = [
    *("127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "0"),
    *("0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "169.254.1", "2852039166", "100.64.0.1"),
    *("100.100.100.200", "192.0.0.8", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1"),
    *("224.0.0.1", "240.0.0.1", "255.255.255.255", "192.88.99.1", "168.63.129.16", "127.0.0.1."),
    *("::1", "::", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:169.254.169.254", "64:ff9b::7f00:1"),
    *("64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:7f00:1::", "fe80::1"),
    *("fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "100::1", "2001:db8::1", "3fff::1", "5f00::1"),
    *("2606:4700::5efe:7f00:1", "2001:0:0:0:0:0:80ff:fffe", "\uff11\uff12\uff17.0.0.1", "\u2460\u2461\u2466.0.0.1"),
]
PUBLIC = ["93.184.216.34", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::101:101", "2002:101:101::1", "16843009"]


@pytest.mark.parametrize("host", INNER)
def test_inner_addresses_are_refused_in_every_spelling(host):
    with pytest.raises(HostRefusedError):
        resolved(host, 443, allowed=())
    shown = f"[{host}]" if ":" in host else host
    with pytest.raises((HostRefusedError, HostUnknownError)):
        check_url(f"https://{shown}/x", allowed=())


@pytest.mark.parametrize("host", PUBLIC)
def test_public_addresses_are_not(host):
    assert resolved(host, 443, allowed=())


@pytest.mark.parametrize("host", INNER)
def test_the_call_itself_refuses_them_too_and_nothing_leaves(host, monkeypatch):
    def connect(*_args):
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", connect)
    shown = f"[{host}]" if ":" in host else host
    came = call(Call(method="GET", url=f"https://{shown}/x", headers={}))
    assert came.kind is Kind.NOT_LEFT


def names(monkeypatch, **known):
    def look_up(host, port, *_args, **_kwargs):
        if host not in known:
            raise socket.gaierror
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, port)) for address in known[host]]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


def test_a_name_that_leads_inside_is_refused_even_if_only_one_of_its_addresses_does(monkeypatch):
    names(monkeypatch, **{"inside.example": ["10.1.2.3"], "both.example": ["93.184.216.34", "127.0.0.1"]})
    for host in ("inside.example", "both.example"):
        with pytest.raises(HostRefusedError):
            check_url(f"https://{host}/", allowed=())
        assert call(Call(method="GET", url=f"https://{host}/", headers={})).kind is Kind.NOT_LEFT
    with pytest.raises(HostUnknownError):
        check_url("https://nowhere.example/", allowed=())


def test_a_name_that_leads_elsewhere_at_the_call_than_at_the_registration_is_refused_then(monkeypatch):
    names(monkeypatch, **{"rebinding.example": ["93.184.216.34"]})
    check_url("https://rebinding.example/", allowed=())
    names(monkeypatch, **{"rebinding.example": ["127.0.0.1"]})
    came = call(Call(method="GET", url="https://rebinding.example/", headers={}))
    assert came.kind is Kind.NOT_LEFT
    assert "may not be called" in came.why


@pytest.mark.parametrize(
    "url",
    [
        *("http://example.com/", "ftp://example.com/", "file:///etc/passwd", "//example.com", "example.com", ""),
        *("https://user:pass@93.184.216.34/", "https://93.184.216.34/?q=1", "https://93.184.216.34/#f", "https:///x"),
        *("https://93.184.216.34/a/../b", "https://93.184.216.34\\@127.0.0.1/", "https://93.184.216.34:99999/"),
        *("https://[::1", "gopher://93.184.216.34/", "https://93.184.216.34:0x50/"),
    ],
)
def test_what_is_no_plain_https_address_is_refused(url):
    with pytest.raises(HostRefusedError):
        check_url(url, allowed=())


def test_an_exception_is_the_exact_host_and_port():
    allowed = {"127.0.0.1:9000"}
    check_url("http://127.0.0.1:9000/base", allowed=allowed)
    for url in ("http://127.0.0.1:9001", "http://localhost:9000", "http://127.1:9000", "https://127.0.0.1/"):
        with pytest.raises(HostRefusedError):
            check_url(url, allowed=allowed)


def test_a_broken_address_is_no_crash():
    with pytest.raises(ValueError, match="does not appear"):
        check_address("x", host="x")
