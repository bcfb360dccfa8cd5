-- How much people may put into a conversation, and that whoever is blocked puts nothing there.
select plan(15);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_person('cat');
select tests.make_history('ana', 'ben');
insert into public.conversations (voyager_id, local_id) values (tests.id_of('ana'), tests.id_of('cat'));

create function pg_temp.account_of(person text)
returns text
language sql security definer
as $$ select auth_id::text from public.users where id = tests.id_of(person) $$;
create function pg_temp.folder(other text)
returns text
language sql security definer
as $$ select id::text from public.conversations where voyager_id = tests.id_of('ana') and local_id = tests.id_of(other) $$;
-- Puts one more file there as Storage does, which knows its size once it has all of it.
create function pg_temp.upload(person text, folder text)
returns text
language plpgsql
as $$
begin
  perform tests.become(person);
  insert into storage.objects (bucket_id, name, owner_id)
  values ('attachments', format('%s/%s/a.png', folder, gen_random_uuid()), pg_temp.account_of(person));
  perform tests.become_owner();
  return 'can';
exception
  when insufficient_privilege then
    return 'cannot';
end
$$;
create function pg_temp.have(person text, folder text, files integer, size text)
returns void
language sql security definer
as $$
  delete from storage.objects;
  insert into storage.objects (bucket_id, name, owner_id, metadata)
  select 'attachments', format('%s/%s/a.png', folder, gen_random_uuid()), pg_temp.account_of(person), jsonb_build_object('size', size::bigint)
  from generate_series(1, files)
$$;

grant execute on all functions in schema pg_temp to public;

select pg_temp.have('ana', pg_temp.folder('ben'), 199, '1');
select is(pg_temp.upload('ana', pg_temp.folder('ben')), 'can', 'ana puts her 200th file into a conversation');
select is(pg_temp.upload('ana', pg_temp.folder('ben')), 'cannot', 'and no 201st');
select is(pg_temp.upload('ben', pg_temp.folder('ben')), 'can', 'what she put there leaves ben his room');
select is(pg_temp.upload('ana', pg_temp.folder('cat')), 'can', 'and her hers in another conversation');
select pg_temp.have('ana', pg_temp.folder('ben') || '0', 200, '1');
select is(pg_temp.upload('ana', pg_temp.folder('ben')), 'can', 'files of a conversation whose id begins alike are not of this one');

select pg_temp.have('ana', pg_temp.folder('ben'), 50, '10485760');
select is(pg_temp.upload('ana', pg_temp.folder('ben')), 'cannot', 'where ana has put 500 MiB she puts nothing more');
select pg_temp.have('ana', pg_temp.folder('ben'), 50, '10485759');
select is(pg_temp.upload('ana', pg_temp.folder('ben')), 'can', 'one byte below she does');
select pg_temp.have('ana', pg_temp.folder('ben'), 1, null);
select is(pg_temp.upload('ana', pg_temp.folder('ben')), 'can', 'a file whose size nobody knows keeps her from nothing');

insert into private.blocks (blocker_id, blocked_id) values (tests.id_of('ana'), tests.id_of('ben'));
select is(pg_temp.upload(person, pg_temp.folder('ben')), 'cannot', format('after ana blocked ben, %s puts no file into their conversation', person))
from unnest(array['ana', 'ben']) as person;
select is(pg_temp.upload('cat', pg_temp.folder('cat')), 'can', 'cat into hers does');
select tests.become('ben');
select isnt_empty($$ select from storage.objects where bucket_id = 'attachments' $$, 'what was there before ben still reads');
select tests.become_owner();
delete from private.blocks;
select is(pg_temp.upload('ben', pg_temp.folder('ben')), 'can', 'once she takes it back he puts files there again');
select private.erase_person(tests.id_of('cat'));
select is(pg_temp.upload('ana', pg_temp.folder('cat')), 'cannot', 'nobody puts a file where nobody would ever look');
select is(pg_temp.upload('ana', null), 'cannot', 'nor into no folder');
