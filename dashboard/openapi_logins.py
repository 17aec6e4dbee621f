"""The API's description of the ways in: passwords, sessions, tokens, links."""

from __future__ import annotations

from dashboard.openapi_route import ApiRoute
from dashboard.openapi_schemas import BOOLEAN, INTEGER, STRING, TIME, Schema, array_of, nullable, object_of, schema_ref

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "put",
        "/api/me/login",
        "Set the caller's own password, and an operator's name; every session ends, and the browser gets a new one",
        "User",
        "MyLogin",
        fails=(400, 409, 429),
    ),
    ApiRoute(
        "post",
        "/api/me/totp",
        "Begin with a second factor: the secret for an authenticator app",
        "Totp",
        "BeginTotp",
        201,
        fails=(400, 409, 429),
    ),
    ApiRoute(
        "put",
        "/api/me/totp",
        "Turn the second factor on, by a code of the app",
        "RecoveryCodes",
        "Code",
        fails=(400, 404, 409, 429),
    ),
    ApiRoute("delete", "/api/me/totp", "Turn the second factor off, by a code", "", "Code", 204, fails=(400, 404, 429)),
    ApiRoute(
        "post",
        "/api/me/recovery-codes",
        "Other recovery codes, by a code",
        "RecoveryCodes",
        "Code",
        201,
        fails=(400, 404, 429),
    ),
    ApiRoute(
        "delete", "/api/users/{user}/totp", "Take a person's second factor away (operator)", status=204, fails=(404,)
    ),
    ApiRoute("get", "/api/me/oidc", "The provider by which people log in, and the caller's account there", "MyOidc"),
    ApiRoute(
        "post",
        "/api/me/oidc",
        "Begin to connect the caller's account: where the browser goes; needs the dashboard's session",
        "OidcBegun",
        "BeginTotp",
        201,
        fails=(400, 404, 409, 429, 503),
    ),
    ApiRoute("delete", "/api/me/oidc", "Disconnect the caller's account", status=204, fails=(404, 409)),
    ApiRoute(
        "delete",
        "/api/users/{user}/oidc",
        "Take a person's account away (operator)",
        status=204,
        fails=(404,),
    ),
    ApiRoute("get", "/api/me/passkeys", "The caller's passkeys", "Passkeys"),
    ApiRoute(
        "post",
        "/api/me/passkeys/options",
        "Begin with a new passkey: what `navigator.credentials.create` takes",
        "PasskeyOptions",
        "BeginTotp",
        201,
        fails=(400, 409, 429),
    ),
    ApiRoute("post", "/api/me/passkeys", "Add the passkey", "Passkey", "NewPasskey", 201, fails=(400, 404, 409)),
    ApiRoute("delete", "/api/me/passkeys/{passkey}", "Remove a passkey", status=204, fails=(404,)),
    ApiRoute(
        "post",
        "/api/passkey-login/options",
        "Begin with a login by passkey: what `navigator.credentials.get` takes",
        "PasskeyOptions",
        status=201,
        fails=(403, 409),
        is_public=True,
    ),
    ApiRoute(
        "post",
        "/api/passkey-login",
        "Log in by passkey; the session's cookie comes with the answer",
        "PasskeyLogin",
        "SignedPasskey",
        fails=(400, 403, 404),
        is_public=True,
    ),
    ApiRoute("get", "/api/me/sessions", "Where the caller is logged in", "Sessions"),
    ApiRoute("delete", "/api/me/sessions", "Log out everywhere", status=204),
    ApiRoute("delete", "/api/me/sessions/{session}", "Log out one of the caller's browsers", status=204, fails=(404,)),
    ApiRoute("delete", "/api/sessions", "Log everyone out everywhere (operator)", status=204),
    ApiRoute("get", "/api/tokens", "All API tokens, without their secrets (operator)", "Tokens"),
    ApiRoute("post", "/api/tokens", "A new API token (operator)", "Token", "NewToken", 201, fails=(400, 404, 409)),
    ApiRoute("delete", "/api/tokens/{token}", "Revoke an API token (operator)", status=204, fails=(404,)),
    ApiRoute(
        "post",
        "/api/login-links",
        "A new one-time login link (operator)",
        "LoginLink",
        "NewLoginLink",
        201,
        fails=(400, 404),
    ),
)
SCHEMAS: dict[str, Schema] = {
    "MyLogin": object_of(
        {
            "name": STRING,
            "password": {**STRING, "writeOnly": True, "minLength": 10, "maxLength": 1000},
            "current": {**STRING, "writeOnly": True, "description": "the present one, where there is one"},
            "time_zone": {**STRING, "description": "by its IANA name"},
        },
        required=("password",),
    ),
    "Passkey": object_of(
        {
            "id": STRING,
            "name": STRING,
            "host": {**STRING, "description": "where it works"},
            "created_at": TIME,
            "used_at": nullable(TIME),
        }
    ),
    "Passkeys": object_of({"passkeys": array_of(schema_ref("Passkey"))}),
    "PasskeyOptions": object_of({"ticket": STRING, "options": {"type": "object", "description": "as WebAuthn has it"}}),
    "MyOidc": object_of(
        {
            "provider": nullable(object_of({"name": STRING, "issuer": STRING})),
            "account": nullable(object_of({"label": STRING, "connected_at": TIME, "used_at": nullable(TIME)})),
        }
    ),
    "OidcBegun": object_of({"url": STRING}),
    "NewPasskey": object_of(
        {"ticket": STRING, "name": STRING, "credential": {"type": "object", "description": "as WebAuthn has it"}}
    ),
    "SignedPasskey": object_of(
        {"ticket": STRING, "credential": {"type": "object", "description": "as WebAuthn has it"}}
    ),
    "PasskeyLogin": object_of({"name": STRING}),
    "BeginTotp": object_of(
        {"current": {**STRING, "writeOnly": True, "description": "the caller's password"}}, required=()
    ),
    "Totp": object_of(
        {"secret": {**STRING, "description": "Base32"}, "uri": {**STRING, "description": "for a QR code"}}
    ),
    "Code": object_of({"code": {**STRING, "writeOnly": True, "description": "of the app, or a recovery code"}}),
    "RecoveryCodes": object_of(
        {"recovery_codes": {**array_of(STRING), "description": "each works once; they are not shown again"}}
    ),
    "Session": object_of(
        {
            "id": STRING,
            "browser": {**STRING, "description": "as it named itself"},
            "address": STRING,
            "created_at": TIME,
            "seen_at": {**TIME, "description": "when it was last used, to within five minutes"},
            "is_this": BOOLEAN,
        }
    ),
    "Sessions": object_of({"sessions": array_of(schema_ref("Session"))}),
    "KnownToken": object_of({"name": STRING, "user": INTEGER, "created_at": TIME, "used_at": nullable(TIME)}),
    "Tokens": object_of({"tokens": array_of(schema_ref("KnownToken"))}),
}
