"""What an MCP server offers, asks and answers. Every text in these comes from a stranger: they are claims and data,
never instructions. Mappings are the objects as they were sent, already bounded, and nobody changes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

McpContentKind = Literal["text", "image", "audio", "blob", "link"]
McpFieldKind = Literal["text", "number", "integer", "yes_no", "choice", "choices"]
McpAnswerAction = Literal["accept", "decline", "cancel"]

MAX_CALL_S = 600.0
"""The longest that a call may be given."""


@dataclass(frozen=True, slots=True)
class McpLimits:
    """How much and how long."""

    connect_s: float = 30.0
    call_s: float = 60.0
    """For one call where it is given no time of its own, and for each page of a list."""
    max_message: int = 4 << 20
    """Bytes of one message, a result among them."""
    max_tools: int = 200
    """Entries of each list: tools, resources, templates, prompts."""
    max_tool: int = 32 << 10
    """Bytes of one entry, as canonical JSON."""
    max_pages: int = 20
    max_notifications: int = 10_000
    """For one call."""
    max_questions: int = 5
    """Rounds of questions in one call."""


@dataclass(frozen=True, slots=True)
class McpTool:
    """One tool, as the server describes it."""

    name: str
    """Of ``[A-Za-z0-9_.-]``, 1 to 128."""
    wire: Mapping[str, Any]
    """The whole object as it was sent: what a pin holds."""

    @property
    def title(self) -> str:
        """Its name for people; empty where it has none."""
        return _text_of(self.wire, "title") or _text_of(self.annotations, "title")

    @property
    def description(self) -> str:
        """What the server says that it does."""
        return _text_of(self.wire, "description")

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """What its arguments look like: shown, never evaluated."""
        return _mapping_of(self.wire, "inputSchema")

    @property
    def output_schema(self) -> Mapping[str, Any]:
        """What its structured result looks like: shown, never evaluated."""
        return _mapping_of(self.wire, "outputSchema")

    @property
    def annotations(self) -> Mapping[str, Any]:
        """What the server claims of it: ``readOnlyHint``, ``destructiveHint`` and such. Claims alone."""
        return _mapping_of(self.wire, "annotations")


@dataclass(frozen=True, slots=True)
class McpResource:
    """Something that can be read by its URI."""

    uri: str
    name: str
    wire: Mapping[str, Any]

    @property
    def description(self) -> str:
        """What the server says that it is."""
        return _text_of(self.wire, "description")

    @property
    def mime_type(self) -> str:
        """What the server says that it is made of."""
        return _text_of(self.wire, "mimeType")


@dataclass(frozen=True, slots=True)
class McpResourceTemplate:
    """URIs of one pattern, each of which can be read."""

    uri_template: str
    name: str
    wire: Mapping[str, Any]

    @property
    def description(self) -> str:
        """What the server says that they are."""
        return _text_of(self.wire, "description")


@dataclass(frozen=True, slots=True)
class McpPrompt:
    """A text of the server's for a model. Here it is data alone: no program of ours puts it into a prompt."""

    name: str
    wire: Mapping[str, Any]

    @property
    def description(self) -> str:
        """What the server says that it is for."""
        return _text_of(self.wire, "description")


@dataclass(frozen=True, slots=True)
class McpHello:
    """Who the server says that it is."""

    protocol_version: str
    """One that is known here, such as ``2026-07-28``."""
    server_name: str
    server_version: str
    instructions: str
    capabilities: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class McpCatalog:
    """Everything that the server offers."""

    hello: McpHello
    tools: tuple[McpTool, ...]
    resources: tuple[McpResource, ...]
    templates: tuple[McpResourceTemplate, ...]
    prompts: tuple[McpPrompt, ...]
    dropped: tuple[str, ...]
    """What was left out and why, one sentence each; no more than 50."""


@dataclass(frozen=True, slots=True)
class McpContent:
    """One part of a result."""

    kind: McpContentKind
    text: str = ""
    """Of a text; of a link what the server says of it."""
    data: bytes = b""
    """Of a picture, a sound or a blob, decoded."""
    mime_type: str = ""
    """A claim."""
    uri: str = ""
    """Of a link, or of the resource that this is a copy of."""
    name: str = ""


@dataclass(frozen=True, slots=True)
class McpResult:
    """What a tool answered."""

    content: tuple[McpContent, ...]
    structured: Any | None
    """A JSON value, as it was sent; None where there is none."""
    is_error: bool
    """The tool says that it failed; its content says why."""


@dataclass(frozen=True, slots=True)
class McpPromptMessage:
    """One message of a prompt."""

    role: str
    """``user`` or ``assistant``, as the server says."""
    content: McpContent


@dataclass(frozen=True, slots=True)
class McpField:
    """One thing that a server wants to know."""

    name: str
    """The key of its answer."""
    title: str
    description: str
    kind: McpFieldKind
    required: bool
    options: tuple[tuple[str, str], ...] = ()
    """Of a choice: each value and what is shown for it."""
    default: str | float | int | bool | tuple[str, ...] | None = None
    text_format: str = ""
    """Of a text: ``email``, ``uri``, ``date``, ``date-time`` or nothing."""
    least: float | None = None
    """Of a number its least value, of a text its fewest characters, of choices the fewest."""
    most: float | None = None


@dataclass(frozen=True, slots=True)
class McpQuestion:
    """A form that a server wants a person to fill in: at most 10 fields, none of them a secret."""

    message: str
    fields: tuple[McpField, ...]


@dataclass(frozen=True, slots=True)
class McpAnswer:
    """What the person answered."""

    action: McpAnswerAction
    content: Mapping[str, Any] = field(default_factory=dict)
    """By field name, where the action is ``accept``."""


def _text_of(wire: Mapping[str, Any], key: str) -> str:
    value = wire.get(key)
    return value if isinstance(value, str) else ""


def _mapping_of(wire: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = wire.get(key)
    return value if isinstance(value, dict) else {}
