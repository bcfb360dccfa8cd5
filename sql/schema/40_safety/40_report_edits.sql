-- Whoever owns the tables can change a report in the SQL editor: that is logged as well.
create function private.log_report_edit()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if old.id::text = current_setting('api.resolved_report', true) then
    return null;
  end if;
  perform private.log_moderation(
    action => 'edit report',
    -- The log cannot refer to a report that is gone.
    report => case when tg_op = 'UPDATE' then new.id end,
    person => old.user_id,
    note => case tg_op
      when 'DELETE' then format('Report %s was deleted', old.id)
      else format(
        'Report %s was changed without resolve_report: %s', old.id,
        (
          select
            string_agg(
              -- Texts of people do not stay in the log.
              key || case key when 'note' then '' else format(' from %s to %s', before.value, after.value) end, ', '
              order by key
            )
          from jsonb_each(to_jsonb(old)) as before
          join jsonb_each(to_jsonb(new)) as after using (key)
          where before.value <> after.value
        )
      )
    end
  );
  return null;
end
$$;
comment on function private.log_report_edit() is
  'Logs what somebody changed or deleted in the table itself. Definer, because nobody else can write the log.';

create trigger log_report_edit
  after update on public.reports
  for each row
  when (
    (old.id, old.reporter_id, old.user_id, old.message_id, old.reason, old.created_at, old.resolution, old.resolved_at)
      is distinct from (
        new.id, new.reporter_id, new.user_id, new.message_id, new.reason, new.created_at, new.resolution,
        new.resolved_at
      )
    -- private.purge_evidence() deletes the note with its date.
    or old.note is distinct from new.note and (new.note is not null or old.purge_at is null or new.purge_at is not null)
  )
  execute function private.log_report_edit();

create trigger log_report_deletion
  after delete on public.reports
  for each row
  execute function private.log_report_edit();
