package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	client "example.com/us/client"
)

func need[Value any](value Value, _ any, err error) Value {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	conversation, _ := strconv.ParseInt(os.Args[4], 10, 64)
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Args[1]}}
	api := client.NewAPIClient(configuration)
	anonymous := context.Background()
	login := client.NewLogInRequest(os.Args[2], os.Args[3])
	session := need(api.AccountsAPI.LogIn(anonymous).LogInRequest(*login).Execute())
	ctx := context.WithValue(anonymous, client.ContextAccessToken, session.AccessToken)
	listed := need(api.ConversationsAPI.ListConversations(ctx).Limit(10).Execute())
	first := need(api.MessagesAPI.ListMessages(ctx, conversation).AfterId(0).Execute())[0]
	draft := client.NewSendMessageRequest()
	draft.SetContent("Hello")
	sent := need(api.MessagesAPI.SendMessage(ctx, conversation).SendMessageRequest(*draft).Execute())
	detail := need(api.ConversationsAPI.GetConversation(ctx, conversation).Execute())
	found := need(api.SearchAPI.SearchProfiles(ctx).Q("Ana").Limit(5).Execute())
	exported := need(api.AccountsAPI.ExportMe(ctx).Execute())
	_, refused, _ := api.ConversationsAPI.GetConversation(ctx, 999999999).Execute()
	ids := []int64{}
	for _, entry := range listed {
		ids = append(ids, entry.Id)
	}
	text, _ := json.Marshal(map[string]any{
		"conversations": ids,
		"size":          first.Attachment.Get().Size,
		"sent":          sent.Content,
		"price":         detail.Reservations[0].Price,
		"found":         found.Query == "Ana",
		"exported":      len(exported.Conversations[0].Messages),
		"refusal":       fmt.Sprint(refused.StatusCode, " ", refused.Header.Get("X-Error-Code")),
	})
	fmt.Println(string(text))
}
