-- Who may call which function, and what the secret key may do with tables. What users may read of a table stands beside
-- its policies.
grant execute on all functions in schema api to edge_functions;
grant execute on function
  private.account_status, private.act_as, private.adopt_model, private.adopt_outbox_settings, private.begin_sign_up,
  private.calibrate_model, private.check_sign_up, private.claim_embeddings, private.claim_mail, private.claim_pushes,
  private.claim_webhooks, private.consume_rate_limit, private.describe_search, private.describe_service,
  private.due_channels, private.fail_embeddings, private.find_me, private.finish_outbox, private.plan_notifications,
  private.save_embeddings
to edge_functions;

-- What policies and the API functions without definer call.
grant execute on function private.find_me, private.iso, private.my_id, private.set_response_metadata
to anon, authenticated;
grant execute on function
  private.can_read_attachment, private.can_remove_attachment, private.can_upload_attachment, private.interests_of,
  private.is_upload, private.my_conversations, private.my_writable_conversations, private.typing_conversation_id
to authenticated;

-- For admins, and for the constraints of the tables that they write.
grant execute on function
  public.describe_queues, public.describe_schedule, public.erase_person, public.find_people, public.lift_restriction,
  public.read_evidence, public.resolve_report, public.restrict_person, private.is_attachment, private.is_line,
  private.is_own_photo, private.is_web_address
to service_role;
grant all on
  public.conversations, public.interests, public.messages, public.profile_interests, public.profiles,
  public.reservations, public.users
to service_role;
-- The platform grants everything. Only triggers and the functions of reporters and moderators write these.
revoke all on public.moderation_log, public.moderation_queue, public.reports, public.reservation_history
from service_role;
grant select on public.moderation_log, public.moderation_queue, public.reports, public.reservation_history
to service_role;
revoke all on sequence public.moderation_log_id_seq, public.reports_id_seq, public.reservation_history_id_seq
from service_role;
