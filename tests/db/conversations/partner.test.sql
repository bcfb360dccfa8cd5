-- With with_partner the list has of the partner what GET /users/:id shows to everybody, and nothing across a block.
select plan(14);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;
insert into public.conversations (voyager_id, local_id)
values (tests.id_of('ana'), tests.id_of('ben')), (tests.id_of('cat'), tests.id_of('ana'));

-- The partners in this person's list, each with the photo, 'no photo' or 'no profile'.
create function pg_temp.partners(person text, call text default 'list_conversations(null, 0, with_partner => true)')
returns text
language plpgsql
as $$
declare
  answer jsonb := tests.ask(person, call);
begin
  perform tests.become_owner();
  return (
    select string_agg(
      concat_ws(
        ' ', partner ->> 'name',
        case
          when partner -> 'profile' = 'null' then 'no profile'
          when (partner -> 'profile' ->> 'id')::bigint = tests.profile_of(partner ->> 'name') then
            coalesce(partner -> 'profile' ->> 'image_url', 'no photo')
        end
      ), ', ' order by partner -> 'id'
    )
    from jsonb_array_elements(answer) as one
    cross join lateral (select one -> 'partner') as shown (partner)
  );
end
$$;
create function pg_temp.change(name text, searchable boolean, photo text)
returns void
language sql
as $$
  update public.profiles
  set is_searchable = searchable, image_url = photo
  where id = tests.profile_of(name)
$$;

select is(
  tests.ask('ana', 'list_conversations(null, 0)') #> '{0,partner}', null, 'without with_partner the list has no partner'
);
select tests.become_owner();
select pg_temp.change('ben', false, 'https://photos.example/ben');
select is(pg_temp.partners('ana'), 'ben no profile, cat no profile', 'ana cannot see profiles that are hidden');
select is(pg_temp.partners('ben'), 'ana no profile', 'nor can ben');
select pg_temp.change('ben', true, 'https://photos.example/ben');
select pg_temp.change('cat', true, null);
select is(
  pg_temp.partners('ana'), 'ben https://photos.example/ben, cat no photo', 'ana can see public ones, in both places'
);
select pg_temp.change('ben', true, 'https://photos.example/two');
select is(pg_temp.partners('ana'), 'ben https://photos.example/two, cat no photo', 'a new photo replaces the old one');
select is(
  tests.ask('ana', 'list_conversations(1, 0, with_partner => true)') #> '{0,partner}',
  jsonb_build_object(
    'id', tests.id_of('cat'), 'name', 'cat',
    'profile', jsonb_build_object('id', tests.profile_of('cat'), 'image_url', null)
  ),
  'a partner is id, name and profile'
);
select tests.become_owner();

insert into private.blocks (blocker_id, blocked_id)
values (tests.id_of('ana'), tests.id_of('ben')), (tests.id_of('cat'), tests.id_of('ana'));
select is(
  pg_temp.partners('ana'), 'ben no profile, cat no profile', 'ana cannot see whom she blocked, nor who blocked her'
);
select pg_temp.change('ana', true, 'https://photos.example/ana');
select is(pg_temp.partners('ben'), 'ana no profile', 'nor can those two see her');
delete from private.blocks;
select is(pg_temp.partners('ben'), 'ana https://photos.example/ana', 'they can after the blocks');

update public.users set is_active = false where id = tests.id_of('ben');
select is(
  pg_temp.partners('ana'), 'ben no profile, cat no photo', 'ana cannot see the profile of a deactivated person'
);
update public.users set is_active = true where id = tests.id_of('ben');
select is(pg_temp.partners('ana'), 'ben https://photos.example/two, cat no photo', 'but can once they are back');
select pg_temp.change('ben', false, 'https://photos.example/two');
select is(pg_temp.partners('ana'), 'ben no profile, cat no photo', 'ana cannot see a profile that was hidden again');

select pg_temp.change('ben', true, 'https://photos.example/two');
select tests.ask('ben', 'erase_me()');
select tests.become_owner();
select is(pg_temp.partners('ana'), 'Deleted user no profile, cat no photo', 'nor one that was erased');
select is_empty(
  $$
    select users.id, public_profile_id, public_image_url
    from public.users
    left join public.profiles on profiles.user_id = users.id and profiles.is_searchable
    where (public_profile_id, public_image_url) is distinct from (profiles.id, profiles.image_url)
  $$,
  'no copy differs from its profile'
);
