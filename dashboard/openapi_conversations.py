"""Conversations, as the API describes them."""

from __future__ import annotations

from dashboard.openapi_route import AGENT, PAGE, USER, ApiRoute
from dashboard.openapi_schemas import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    STRING,
    TIME,
    Schema,
    array_of,
    enum_of,
    nullable,
    object_of,
    schema_ref,
)
from orchestrator.approvals.source_rows import SourceKind

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "get",
        f"{AGENT}/conversations",
        "The conversations with the agent, the one that was used last first",
        "Conversations",
        query={
            "q": {**STRING, "description": "only those with these words in the name, or in a message and its reply"},
            **PAGE,
            **USER,
        },
        fails=(400, 404),
    ),
    ApiRoute(
        "post",
        f"{AGENT}/conversations",
        "Begin a conversation, with nothing or where a turn ended",
        "Conversation",
        "NewConversation",
        201,
        query=USER,
        fails=(400, 404, 409, 429),
    ),
    ApiRoute(
        "patch",
        f"{AGENT}/conversations/{{conversation}}",
        "Rename a conversation, or go on with another of its branches",
        "Conversation",
        "ConversationChange",
        query=USER,
        fails=(400, 404),
    ),
    ApiRoute(
        "get",
        f"{AGENT}/conversations/{{conversation}}/use",
        "What a conversation takes: cost, tokens, and how full the model's context is",
        "ConversationUse",
        query=USER,
        fails=(404,),
    ),
    ApiRoute(
        "get",
        f"{AGENT}/conversations/{{conversation}}/sources",
        "What a conversation has read that strangers may have written, the oldest first",
        "Sources",
        query=USER,
        fails=(404,),
    ),
    ApiRoute(
        "delete",
        f"{AGENT}/conversations/{{conversation}}",
        "Delete a conversation: the agent forgets it; files and memories stay",
        status=204,
        query=USER,
        fails=(404, 409),
    ),
    ApiRoute(
        "post",
        f"{AGENT}/conversations/{{conversation}}/branch",
        "Send a message again beside itself: with other words, or for another answer",
        "Outcome",
        "NewBranch",
        202,
        query=USER,
        fails=(400, 404, 409, 413, 429, 503),
    ),
    ApiRoute(
        "get",
        f"{AGENT}/conversations/{{conversation}}/export",
        "The conversation as a file: the branch that is shown as Markdown or as a web page of one file, or all of it "
        "as JSON",
        query={"format": {**enum_of("md", "html", "json"), "description": "default: md"}, **USER},
        fails=(400, 404),
        sends_file=True,
    ),
    ApiRoute(
        "post",
        f"{AGENT}/conversations/import",
        "An export in JSON becomes a new conversation; nothing in it runs again, and files are not copied",
        "Conversation",
        "Transcript",
        201,
        query=USER,
        fails=(400, 404, 413, 429),
    ),
    ApiRoute(
        "get",
        f"{AGENT}/conversations/{{conversation}}/tree",
        "The whole conversation with its branches, each before those that go on from it",
        "Branches",
        query=USER,
        fails=(404,),
    ),
)
SCHEMAS: dict[str, Schema] = {
    "Source": object_of(
        {
            "kind": enum_of(*SourceKind),
            "subject": {
                **STRING,
                "description": "a host, a search engine, a package, a file or whoever wrote; empty for what there was "
                "too much of to list",
            },
            "detail": {**STRING, "description": "what else there is to know, such as the whole address"},
            "count": {**INTEGER, "description": "how often in this turn"},
            "turn": {**nullable(INTEGER), "description": "the turn that it came in in"},
            "first_at": TIME,
            "last_at": TIME,
        }
    ),
    "Sources": object_of({"sources": array_of(schema_ref("Source"))}),
    "Conversation": object_of(
        {
            "id": INTEGER,
            "agent": STRING,
            "user": INTEGER,
            "name": {**STRING, "description": "its name, or its first words while it has none"},
            "is_named": {**BOOLEAN, "description": "a person named it"},
            "is_first": {**BOOLEAN, "description": "what names no conversation belongs to this one"},
            "last_turn": {**nullable(INTEGER), "description": "its newest turn"},
            "forked_from": {
                **nullable(INTEGER),
                "description": "the turn of another one that it goes on from",
            },
            "unread": {
                **INTEGER,
                "description": "turns that ended since you looked; at most 100 are counted",
            },
            "created_at": TIME,
            "used_at": {**TIME, "description": "when you last wrote in it"},
        }
    ),
    "Conversations": object_of({"conversations": array_of(schema_ref("Conversation")), "next": nullable(INTEGER)}),
    "ConversationUse": object_of(
        {
            "cost_usd": NUMBER,
            "tokens": {**INTEGER, "description": "read and written by all calls for it"},
            "provider": {**STRING, "description": "of the last call; empty before the first"},
            "model": STRING,
            "prompt_tokens": {**INTEGER, "description": "what the last call read"},
            "context_tokens": {**nullable(INTEGER), "description": "what the model can read at once, where known"},
        }
    ),
    "NewConversation": object_of(
        {
            "name": {**STRING, "description": "left out: its first words"},
            "turn": {**INTEGER, "description": "the turn of another conversation that it goes on from"},
        },
        required=(),
    ),
    "ConversationChange": object_of(
        {
            "name": {**STRING, "description": "empty: its first words again"},
            "turn": {**INTEGER, "description": "the branch with this turn is shown and goes on"},
        },
        required=(),
    ),
    "NewBranch": object_of(
        {
            "turn": {**INTEGER, "description": "the message that is sent again"},
            "text": {**STRING, "description": "its new words; left out: the same message, for another answer"},
            "files": {**BOOLEAN, "description": "first put all files back as they were before that message"},
        },
        required=("turn",),
    ),
    "Transcript": object_of(
        {
            "format": enum_of("hermitshell-conversation"),
            "version": INTEGER,
            "conversation": schema_ref("Conversation"),
            "turns": array_of(schema_ref("Turn")),
        },
        required=("format", "version", "turns"),
    ),
    "Branches": object_of(
        {
            "branches": array_of(
                object_of(
                    {
                        "first": {**INTEGER, "description": "the first turn after a fork"},
                        "last": {**INTEGER, "description": "the last before the next fork, or of the branch"},
                        "parent": {**nullable(INTEGER), "description": "the turn that it follows"},
                        "turns": {**INTEGER, "description": "how many, from the first to the last"},
                        "words": {**STRING, "description": "the first message, on one line"},
                        "created_at": TIME,
                        "is_shown": {**BOOLEAN, "description": "it is on the branch that goes on"},
                    }
                )
            )
        }
    ),
}
