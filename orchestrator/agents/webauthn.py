"""WebAuthn, as far as we speak it: what a browser is asked for, and whether what it answers is right. Nothing is kept
here. The library takes a tenth of a second to load, so it is loaded where somebody uses a passkey.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from orchestrator.core.errors import BadInput, Conflict

if TYPE_CHECKING:
    from fido2.server import Fido2Server

NAME = "HermitShell"
_BROKEN = (ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError, RecursionError, struct.error)
"""What reading a stranger's answer may raise."""
_REFUSED = "The browser's answer doesn't fit. Try again."


@dataclass(frozen=True, slots=True)
class Site:
    """Where the browser is: its origin, such as ``https://hermit.example``."""

    origin: str

    @property
    def host(self) -> str:
        """What a passkey is bound to."""
        return urlsplit(self.origin).hostname or ""

    @property
    def may_have_passkeys(self) -> bool:
        """Browsers make and use passkeys here: over https or on this machine, and by a name."""
        try:
            ipaddress.ip_address(self.host)
        except ValueError:
            return urlsplit(self.origin).scheme == "https" or self.host == "localhost"
        return False


@dataclass(frozen=True, slots=True)
class MadeCredential:
    """A new credential."""

    id: bytes
    credential: bytes
    sign_count: int


@dataclass(frozen=True, slots=True)
class SignedAnswer:
    """What a credential has signed."""

    sign_count: int
    handle: bytes


def ask_for_new(site: Site, *, name: str, handle: bytes, known: list[bytes]) -> tuple[dict[str, Any], Any]:
    """What the browser is asked to make, for none of the authenticators that have a ``known`` credential; and what the
    answer is held against."""
    from fido2.webauthn import (  # noqa: PLC0415 - see above
        AttestedCredentialData,
        PublicKeyCredentialUserEntity,
        ResidentKeyRequirement,
        UserVerificationRequirement,
    )

    options, state = _server(site).register_begin(
        PublicKeyCredentialUserEntity(id=handle, name=name, display_name=name),
        [AttestedCredentialData(credential) for credential in known],
        resident_key_requirement=ResidentKeyRequirement.REQUIRED,
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return dict(options["publicKey"]), state


def read_new(site: Site, state: Any, answer: Mapping[str, Any]) -> MadeCredential:
    """The credential that was made; raises BadInput for any other answer."""
    try:
        found = _server(site).register_complete(state, answer)
        assert found.credential_data is not None  # noqa: S101 - the library has looked
        made = MadeCredential(found.credential_data.credential_id, bytes(found.credential_data), found.counter)
    except _BROKEN as error:
        raise BadInput(_REFUSED) from error
    return made


def ask_to_sign(site: Site) -> tuple[dict[str, Any], Any]:
    """What the browser is asked to sign, with whichever of its passkeys the person chooses; and what the answer is held
    against."""
    from fido2.webauthn import UserVerificationRequirement  # noqa: PLC0415 - see above

    options, state = _server(site).authenticate_begin(None, user_verification=UserVerificationRequirement.REQUIRED)
    return dict(options["publicKey"]), state


def read_id(answer: Mapping[str, Any]) -> bytes:
    """Which credential claims to have signed; raises BadInput."""
    from fido2.webauthn import AuthenticationResponse  # noqa: PLC0415 - see above

    try:
        return bytes(AuthenticationResponse.from_dict(answer).raw_id)
    except _BROKEN as error:
        raise BadInput(_REFUSED) from error


def read_signed(site: Site, state: Any, credential: bytes, answer: Mapping[str, Any]) -> SignedAnswer:
    """The signature is this credential's, made at this site just now by its person; raises BadInput."""
    from fido2.webauthn import AttestedCredentialData, AuthenticationResponse  # noqa: PLC0415 - see above

    try:
        _server(site).authenticate_complete(state, [AttestedCredentialData(credential)], answer)
        read = AuthenticationResponse.from_dict(answer).response
        return SignedAnswer(read.authenticator_data.counter, bytes(read.user_handle or b""))
    except _BROKEN as error:
        raise BadInput(_REFUSED) from error


def _server(site: Site) -> Fido2Server:
    from fido2.server import Fido2Server  # noqa: PLC0415 - see above
    from fido2.webauthn import PublicKeyCredentialRpEntity  # noqa: PLC0415

    if not site.may_have_passkeys:
        raise Conflict(
            "Browsers use passkeys at https addresses and at http://localhost, by a name. Open HermitShell there."
        )
    entity = PublicKeyCredentialRpEntity(id=site.host, name=NAME)
    return Fido2Server(entity, verify_origin=lambda origin: origin == site.origin)
