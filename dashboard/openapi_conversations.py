"""Conversations, as the API describes them."""

from __future__ import annotations

from dashboard.openapi_route import AGENT, PAGE, USER, ApiRoute
from dashboard.openapi_schemas import BOOLEAN, INTEGER, STRING, TIME, Schema, array_of, nullable, object_of, schema_ref

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
        "Begin a conversation; without a name it is called by its first words",
        "Conversation",
        "NewConversation",
        201,
        query=USER,
        fails=(400, 404, 429),
    ),
    ApiRoute(
        "patch",
        f"{AGENT}/conversations/{{conversation}}",
        "Rename a conversation; an empty name brings its first words back",
        "Conversation",
        "ConversationName",
        query=USER,
        fails=(400, 404),
    ),
    ApiRoute(
        "delete",
        f"{AGENT}/conversations/{{conversation}}",
        "Delete a conversation: the agent forgets it; files and memories stay",
        status=204,
        query=USER,
        fails=(404, 409),
    ),
)
SCHEMAS: dict[str, Schema] = {
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
    "NewConversation": object_of({"name": STRING}, required=()),
    "ConversationName": object_of({"name": STRING}),
}
