-- The interests that profiles can have. In alphabetical order, so that a diff shows what was added and removed.
insert into public.interests (name)
values
  ('Acting'), ('Archaeology'), ('Architecture'), ('Astronomy'), ('Baking'), ('Beaches'), ('Birdwatching'),
  ('Board games'), ('Camping'), ('Ceramics'), ('Cheese'), ('Chess'), ('Cinema'), ('Climbing'), ('Coffee'),
  ('Comics'), ('Cooking'), ('Craft beer'), ('Cycling'), ('Dancing'), ('Diving'), ('Dogs'), ('Fashion'),
  ('Festivals'), ('Fishing'), ('Food markets'), ('Football'), ('Gardening'), ('Hiking'), ('History'),
  ('Horse riding'), ('Jazz'), ('Kayaking'), ('Languages'), ('Live music'), ('Local crafts'), ('Meditation'),
  ('Mountains'), ('Museums'), ('Nightlife'), ('Opera'), ('Painting'), ('Photography'), ('Poetry'),
  ('Reading'), ('Running'), ('Sailing'), ('Skiing'), ('Street art'), ('Street food'), ('Surfing'),
  ('Swimming'), ('Tango'), ('Tea'), ('Theatre'), ('Train journeys'), ('Vegetarian food'), ('Video games'),
  ('Volunteering'), ('Wildlife'), ('Wine'), ('Writing'), ('Yoga')
on conflict do nothing;
