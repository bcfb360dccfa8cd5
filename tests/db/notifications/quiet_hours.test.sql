-- Quiet hours go by the wall clock of the person's time zone, also on the days on which it changes.
select plan(20);

select is(
  private.quiet_until(start::time, finish::time, zone, moment::timestamptz) at time zone 'UTC', expected::timestamp,
  name
)
from (
  values
    ('22:00', '07:00', 'Europe/Lisbon', '2026-01-10 21:59:59Z', null, 'a second before they begin it is not quiet'),
    ('22:00', '07:00', 'Europe/Lisbon', '2026-01-10 22:00Z', '2026-01-11 07:00', 'they begin on the minute'),
    ('22:00', '07:00', 'Europe/Lisbon', '2026-01-11 03:00Z', '2026-01-11 07:00', 'after midnight it is the same night'),
    ('22:00', '07:00', 'Europe/Lisbon', '2026-01-11 07:00Z', null, 'they end on the minute'),
    ('22:00', '07:00', 'Europe/Lisbon', '2026-07-10 20:59Z', null, 'in summer 21:59 is not quiet'),
    ('22:00', '07:00', 'Europe/Lisbon', '2026-07-10 21:00Z', '2026-07-11 06:00', 'in summer 22:00 is an hour earlier'),
    ('13:00', '15:00', 'Asia/Kolkata', '2026-07-10 08:00Z', '2026-07-10 09:30', 'within one day, half an hour off'),
    ('13:00', '15:00', 'Asia/Kolkata', '2026-07-10 09:30Z', null, 'and not after it'),
    -- Berlin, 29 March 2026: 02:00 becomes 03:00, so this night has eight hours.
    ('22:00', '07:00', 'Europe/Berlin', '2026-03-28 21:00Z', '2026-03-29 05:00', 'the night in which spring comes'),
    ('22:00', '07:00', 'Europe/Berlin', '2026-03-29 04:59Z', '2026-03-29 05:00', 'is quiet until the new 07:00'),
    ('22:00', '07:00', 'Europe/Berlin', '2026-03-29 05:00Z', null, 'and no longer'),
    ('02:30', '06:00', 'Europe/Berlin', '2026-03-29 01:30Z', '2026-03-29 04:00', '02:30 does not exist: 03:30'),
    ('02:30', '06:00', 'Europe/Berlin', '2026-03-29 01:29Z', null, 'and not before'),
    -- Berlin, 25 October 2026: 03:00 becomes 02:00, so this night has ten hours.
    ('22:00', '07:00', 'Europe/Berlin', '2026-10-24 20:00Z', '2026-10-25 06:00', 'the night in which winter comes'),
    ('22:00', '07:00', 'Europe/Berlin', '2026-10-25 05:30Z', '2026-10-25 06:00', 'is quiet at 06:30 of the new time'),
    ('22:00', '02:30', 'Europe/Berlin', '2026-10-25 00:45Z', '2026-10-25 01:30', 'of two ends the later counts'),
    ('22:00', '02:30', 'Europe/Berlin', '2026-10-25 01:30Z', null, 'and then it is over'),
    ('22:00', '07:00', 'Pacific/Auckland', '2026-09-26 17:30Z', '2026-09-26 18:00', 'spring comes in September there'),
    ('22:00', '07:00', 'Nowhere/Atlantis', '2026-01-10 23:00Z', null, 'a time zone that is forgotten is never quiet'),
    (null, null, null, '2026-01-10 23:00Z', null, 'without quiet hours it is never quiet')
) as cases (start, finish, zone, moment, expected, name);
