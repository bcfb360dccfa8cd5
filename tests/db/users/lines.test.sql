-- Names and titles: the same characters as in the functions (tests/local/lines.test.ts computes the sums).
select plan(2);
create function pg_temp.sum_of(before text) returns text language sql as $$
  select md5(string_agg(code::text, ',' order by code))
  from generate_series(1, 1114111) as code
  where code not between 55296 and 57343 and private.is_line(before || chr(code))
$$;
select is(pg_temp.sum_of(''), '5517ce31a4d08a7e83841a141c4d3263', 'characters that show');
select is(pg_temp.sum_of('a'), 'c527a1890c31c1978b65b2d667e543aa', 'characters that may stand beside them');
