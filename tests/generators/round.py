import json
import sys

import openapi_client as client

base, email, password, conversation = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
anonymous = client.ApiClient(client.Configuration(host=base))
session = client.AccountsApi(anonymous).log_in(client.LogInRequest(email=email, password=password))
api = client.ApiClient(client.Configuration(host=base, access_token=session.access_token))
messages = client.MessagesApi(api)
listed = client.ConversationsApi(api).list_conversations(limit=10)
attachment = messages.list_messages(conversation, after_id=0)[0].attachment
sent = messages.send_message(conversation, client.SendMessageRequest(content="Hello"))
detail = client.ConversationsApi(api).get_conversation(conversation)
found = client.SearchApi(api).search_profiles(q="Ana", limit=5)
exported = client.AccountsApi(api).export_me()
try:
    client.ConversationsApi(api).get_conversation(999999999)
    refusal = ""
except client.ApiException as error:
    refusal = f"{error.status} {error.headers['X-Error-Code']}"
print(json.dumps({
    "conversations": [entry.id for entry in listed],
    "size": attachment.size,
    "sent": sent.content,
    "price": detail.reservations[0].price,
    "found": found.query == "Ana",
    "exported": len(exported.conversations[0].messages),
    "refusal": refusal,
}))
