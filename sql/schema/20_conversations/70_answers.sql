-- How soon people answer whoever writes to them first.
create table private.answer_spans (
  user_id bigint primary key references public.users (id) on delete cascade,
  answers text not null
    constraint "answers is one of three" check (answers in ('within an hour', 'within a day', 'within a week'))
);
comment on table private.answer_spans is 'All that is kept of how soon a person answers; without a row nothing.';
alter table private.answer_spans enable row level security;

create function private.measure_answers()
returns void
language sql volatile security invoker set search_path = ''
as $$
  merge into private.answer_spans as kept
  using (
    with contacts as materialized (
      select host, first.created_at, reply.created_at - first.created_at as took
      from public.conversations
      cross join lateral (
        select * from public.messages where conversation_id = conversations.id order by id limit 1
      ) as first
      cross join lateral (select voyager_id + local_id - first.user_id as host) as other
      join public.profiles on profiles.user_id = host and show_answers
      -- Whom admins have suspended, or who has left, waits for no answer.
      join public.users as writer on writer.id = first.user_id and writer.is_active
      left join lateral (
        select created_at from public.messages where conversation_id = conversations.id and user_id = host
        order by id
        limit 1
      ) as reply on true
      where first.created_at > now() - interval '90 days'
        and conversations.created_at > now() - interval '90 days'
        -- Taken back.
        and (first.content <> '' or first.attachment is not null)
        and not private.is_blocked_between(host, first.user_id)
    )
    select distinct on (host) host, answers
    from contacts
    -- Who has been waiting for less than this may still be answered in time.
    join (
      values
        ('within an hour', interval '1 hour'), ('within a day', interval '1 day'), ('within a week', interval '7 days')
    ) as spans (answers, span) on contacts.created_at <= now() - span
    group by host, answers, span
    having count(*) >= 5
      and percentile_cont(0.5) within group (order by coalesce(took, interval '90 days')) <= span
    order by host, span
  ) as measured
  on measured.host = kept.user_id
  when matched and measured.answers <> kept.answers then update set answers = measured.answers
  when not matched then insert (user_id, answers) values (measured.host, measured.answers)
  when not matched by source then delete
$$;
comment on function private.measure_answers() is
  'Says of each person the shortest span that their median answer kept to, of the conversations of the last 90 days in
which another person wrote first, at least that long ago, if these are five or more. Called each night.';

create function api.get_public_profile_and_answers(profile bigint)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  shown constant text := api.get_public_profile(profile);
begin
  return (
    select (left(shown, -1) || ', ' || substr(more::text, 2))::json
    from public.profiles
    left join private.answer_spans on answer_spans.user_id = profiles.user_id and show_answers
    cross join lateral json_build_object(
      'answers', answers, 'languages', languages, 'time_zone', private.time_zone_of(city, country)
    ) as more
    where profiles.id = profile
  );
end
$$;
comment on function api.get_public_profile_and_answers(bigint) is
  'As get_public_profile, with answers, languages and the time zone of the place, null if not known. Definer, as that.';

create function api.get_me_and_choices()
returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  me constant jsonb := api.get_me();
begin
  return me || jsonb_build_object(
    'Profile', me -> 'Profile' || (
      select jsonb_build_object('show_answers', show_answers, 'languages', languages)
      from public.profiles
      where user_id = (select private.my_id())
    ),
    'warnings', private.warnings_of((select private.my_id()))
  );
end
$$;
comment on function api.get_me_and_choices() is
  'As get_me, with the caller''s choices and warnings. Definer, because callers cannot call get_me.';
