-- An admin's day in the demo data: three open reports (a spammer, a message with its conversation as evidence, and one
-- that is not true), a suspended and a hidden person, a dead letter, and mails that are due at the first start.
create temporary table demo_users on commit drop as
select id, split_part(email, '@', 1) as name
from public.users
where email in (
  'ayoub.chtaini@example.com', 'brahim.oumghar@example.com', 'fergus.abernethy@example.com',
  'gunilla.akesson@example.com', 'haydee.sosnowski@example.com', 'hodan.warsame@example.com', 'matilde.fragoso@example.com', 'nikos.petrakos@example.com', 'ximena.godinez@example.com'
);

insert into public.conversations (voyager_id, local_id, created_at)
select voyager.id, local.id, now() - written.ago
from (
  values
    ('ayoub.chtaini', 'hodan.warsame', interval '7 hours'),
    ('nikos.petrakos', 'ximena.godinez', interval '20 hours')
) as written (voyager, local, ago)
join demo_users as voyager on voyager.name = written.voyager
join demo_users as local on local.name = written.local
order by written.ago;

insert into public.messages (conversation_id, user_id, content, created_at)
select conversations.id, sender.id, said.content, now() - said.ago
from (
  values
    ('nikos.petrakos', 'nikos.petrakos', 'ximena.godinez', interval '19 hours', 'You did not answer me yesterday.'),
    ('ximena.godinez', 'nikos.petrakos', 'ximena.godinez', interval '18 hours', 'I was at work. I do not want to meet, thank you.'),
    ('nikos.petrakos', 'nikos.petrakos', 'ximena.godinez', interval '17 hours', 'Then I will wait outside the ceramics school until you do.'),
    ('ayoub.chtaini', 'ayoub.chtaini', 'hodan.warsame', interval '7 hours', 'CHEAP tours!!! 70 % off, pay by transfer today only: tours.example/deal'),
    ('ayoub.chtaini', 'ayoub.chtaini', 'hodan.warsame', interval '6 hours', 'Last places!!! tours.example/deal')
) as said (sender, voyager, local, ago, content)
join demo_users as sender on sender.name = said.sender
join demo_users as voyager on voyager.name = said.voyager
join demo_users as local on local.name = said.local
join public.conversations on (voyager_id, local_id) = (voyager.id, local.id)
order by said.ago desc;

with reported as (
  insert into public.reports (reporter_id, user_id, message_id, reason, note, shares_messages, created_at)
  select
    reporter.id, person.id,
    (select max(id) from public.messages where content like filed.about || '%'),
    filed.reason, filed.note, filed.shares, now() - filed.ago
  from (
    values
      ('ximena.godinez', 'nikos.petrakos', 'Then I will wait outside', 'harassment', 'He knows where I study.', true, interval '16 hours'),
      ('hodan.warsame', 'ayoub.chtaini', 'Last places', 'spam', 'The same link twice, and he is no guide.', false, interval '5 hours'),
      ('fergus.abernethy', 'haydee.sosnowski', null, 'impersonation', 'I do not believe that anybody owns so many tango records.', false, interval '2 hours')
  ) as filed (reporter, person, about, reason, note, shares, ago)
  join demo_users as reporter on reporter.name = filed.reporter
  join demo_users as person on person.name = filed.person
  order by filed.ago desc
  returning reports
)
select private.copy_evidence(reports) from reported;

select public.restrict_person(id, 'suspend', 'Asked three people for money before they had met') from demo_users
where name = 'brahim.oumghar';
select public.restrict_person(id, 'hide', 'Advertises tours in the profile') from demo_users
where name = 'matilde.fragoso';

-- What people have not read since is mailed at once, and not only after their delay.
update private.outbox set due_at = now() where channel = 'person';
insert into private.outbox (channel, event, user_id, attempts, due_at, last_error, created_at)
select 'mail', 'silence', id, 8, now(), 'EENVELOPE 550', now() - interval '3 hours' from demo_users
where name = 'gunilla.akesson';
