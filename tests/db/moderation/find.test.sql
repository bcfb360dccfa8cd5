-- Finding people, for admins.
select plan(15);
select tests.make_person(name) from unnest(array['Inês Alba', 'Bo_b 100%', 'cat', 'dan', 'eve', 'fay']) as name;
-- Her id is in his address.
update public.users set email = format('bob%s@mail.example', tests.id_of('cat')) where name = 'Bo_b 100%';
insert into public.reports (reporter_id, user_id, reason, resolution, resolved_at)
select tests.id_of('dan'), tests.id_of('cat'), 'spam', resolution, case when resolution is not null then now() end
from unnest(array['dismiss', 'warn', null]) as resolution;
select public.restrict_person(tests.id_of('cat'), 'hide', 'Why');
select public.restrict_person(tests.id_of('dan'), 'suspend', 'Why');
update public.users set is_active = false, confirmed_at = null where name = 'eve';
select private.erase_person(tests.id_of('fay'));

select tests.become_role('service_role');
select is(array(select name from public.find_people(query)), found::text[], format('%L finds %s', query, found))
from (
  values
    ('ines', '{Inês Alba}'), (' ALBA ', '{Inês Alba}'), ('@MAIL.', '{Bo_b 100%}'), ('_', '{Bo_b 100%}'),
    ('0%', '{Bo_b 100%}'), ('es albabob', '{}'), ('nobody like this', '{}')
) as searches (query, found);
select is(
  array(select name from public.find_people((select id::text from public.users where name = 'cat'))), array['cat'],
  'an id finds that person alone'
);
select is_empty($$ select from public.find_people('99999999999999999999') $$, 'no id is too large');
select is(
  array(select name from public.find_people('')), array['Deleted user', 'eve', 'dan', 'cat', 'Bo_b 100%', 'Inês Alba'],
  'nothing finds everybody, the newest first'
);
select is(
  array(select name from public.find_people(null, true)), array['dan', 'cat'],
  'restricted are those who are hidden or suspended, and neither the pending nor the erased'
);
select is(array(select name from public.find_people('dan', true)), array['dan'], 'also among those with a name');
select is(
  array(select concat_ws(' ', name, status, is_hidden) from public.find_people('')),
  array[
    'Deleted user erased f', 'eve pending f', 'dan suspended f', 'cat active t', 'Bo_b 100% active f',
    'Inês Alba active f'
  ],
  'each with the status'
);
select is(
  array(select concat_ws(' ', name, reports, upheld) from public.find_people('') where reports > 0), array['cat 3 1'],
  'and the reports'
);
select is(
  (select email from public.find_people('cat')), (select email from public.users where name = 'cat'), 'and the address'
);
