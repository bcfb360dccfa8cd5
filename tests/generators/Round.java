import java.net.http.HttpClient;
import java.util.LinkedHashMap;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.*;
import org.openapitools.client.model.*;

public class Round {
  public static void main(String[] given) throws Exception {
    var conversation = Long.parseLong(given[3]);
    var api = new ApiClient();
    api.updateBaseUri(given[0]);
    // As docs/reference/introduction.md says.
    api.setHttpClientBuilder(HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1));
    var login = new LogInRequest().email(given[1]).password(given[2]);
    var session = new AccountsApi(api).logIn(login);
    api.setRequestInterceptor(request -> request.setHeader("Authorization", "Bearer " + session.getAccessToken()));
    var conversations = new ConversationsApi(api);
    var messages = new MessagesApi(api);
    var listed = conversations.listConversations(10, null, null, null, null, null);
    var first = messages.listMessages(conversation, null, null, null, null, 0L, null).get(0);
    var sent = messages.sendMessage(conversation, new SendMessageRequest().content("Hello"), null);
    var detail = conversations.getConversation(conversation);
    var found = new SearchApi(api).searchProfiles("Ana", null, null, null, 5, null, null, null, null, null, null);
    var exported = new AccountsApi(api).exportMe();
    var refusal = "";
    try {
      conversations.getConversation(999999999L);
    } catch (ApiException error) {
      refusal = error.getCode() + " " + error.getResponseHeaders().firstValue("X-Error-Code").orElse("");
    }
    var round = new LinkedHashMap<String, Object>();
    round.put("conversations", listed.stream().map(Conversation::getId).toList());
    round.put("size", first.getAttachment().getSize());
    round.put("sent", sent.getContent());
    round.put("price", detail.getReservations().get(0).getPrice());
    round.put("found", found.getQuery().equals("Ana"));
    round.put("exported", exported.getConversations().get(0).getMessages().size());
    round.put("refusal", refusal);
    System.out.println(api.getObjectMapper().writeValueAsString(round));
  }
}
