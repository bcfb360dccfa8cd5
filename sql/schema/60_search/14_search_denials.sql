-- What biographies deny, so that a search without dogs finds who says to have none.
create function private.denied_words(biography text)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  -- As Russian and Ukrainian deny: "ne" is another word in other languages.
  said text := private.fold(regexp_replace(biography, '(^|\s)не(?=\s)', '\1no', 'gi'));
  -- What denies nothing is taken out, and other ways to deny are written with words that do.
  spelled_out constant text[] := array[
    '\m(ca|wo|do|does|did|is|are|was|were|have|has|had|could|would|should)n''?t\M|\mcannot\M', '\1 not',
    '\m(not|never|no|nothing|nobody|kein\w*|nicht|nie|nunca|pas|jamais|non|nao|geen|niet|nooit)( \w+){0,4} '
      '(without|ohne|sin|sans|senza|sem|zonder)\M|\mn(ot|ever) (only|just|mind|miss|forget|say|worry|hesitate|sure|'
      'afraid|scared|get enough|((too|so|very) )?far)\M|\mno (problem|worries|limit|matter|doubt|need|one)\w*|\mwhy '
      'not\M|\mnothing but\M|\mkein\w* problem|\mnicht (nur|weit)\M|\mno solo\M|\mpas (seulement|loin)\M|\mnon solo\M|'
      '\mniet alleen\M|\mnao so\M|\mnot (an? |really )?(vegan|vegetari)\w*', ' ',
    '\m(vegan|טבעונ)\w*|纯素', '. no meat seafood no milk dairy eggs cheese .',
    '\mvegetari\w*|吃素|素食', '. no meat seafood .',
    '\m(teetotal\w*|sober|abstemi\w*)\M', '. no alcohol .', '\m(childless|kinderlos)\w*', '. no children .',
    '\m(non|nicht|no)-?(?=smok|drink|rauch|trink|fum)|\mg[ai]ven? up\M|\mfree (of|from)\M|\mnot stand\M', ' no ',
    '\m(\w{3,})(-free|-?frei|-los|less| free(?! to| time))\M', '. no \1 .',
    '\m(and|und|et|y|e|en) (love|like|enjoy|adore|liebe|mag|aime|amo|adoro|gosto|hou)\M', ' but ',
    '\m(is|are) not (for me|my|welcome|allowed)\M|\mnothing for me\M|\mnichts fur mich\M|\mmakes? me (sneeze|cough|'
      'ill|sick)\M|\m(bore|scare|frighten|bother)s? me\M|\moff my (plate|menu)\M|\m(do|does) not exist\M|'
      '\mme aburren?\M', ' forbidden '
  ];
  -- They deny what follows …
  before constant text[] := string_to_array('no not never without neither nor non zero quit stopped deleted sold avoid '
    'avoids hate hates detest dislike dislikes allergic afraid scared kein keine keinen keinem keiner ohne nie niemals '
    'nicht weder hasse vermeide allergisch aufgehort pas jamais sans ni aucun aucune deteste allergique arrete sin '
    'nunca tampoco ninguna odio detesto deje alergico alergica senza niente allergico allergica smesso geen '
    'zonder niet nooit haat gestopt nao sem nem parei bez', ' ');
  -- … and what stands before them.
  behind constant text[] := '{forbidden,nicht,niet,allergisch,verboten,interdit,prohibido,vietato,verboden,degil}'::text[];
  ends constant text[] := string_to_array('. but only just except because since so instead aber sondern nur weil '
    'dafur pero sino solo porque mais seulement sauf parce ma perche maar alleen wel omdat mas apenas', ' ');
begin
  said := translate(replace(said, ' - ', '.'), e'!?;:()…–—\n', '..........');
  -- In Portuguese, "no" is "in the".
  said := case when said ~ '\m(nao|sou|moro|gosto|meu|minha)\M' then replace(said, ' no ', ' em ') else said end;
  for place in 1..cardinality(spelled_out) by 2 loop
    said := regexp_replace(said, spelled_out[place], spelled_out[place + 1], 'g');
  end loop;
  said := regexp_replace(replace(replace(said, '.', ' . '), ',', ' , '), '[^[:alnum:].,]+', ' ', 'g');
  return array(
    select distinct '~no ' || left(word, 60)
    from (
      select
        word, place, max(place) filter (where word = any (before)) over ahead as denied_at,
        max(place) filter (where word = any (ends) or word = any ('{i,we,ich,wir,je,j,nous,yo,io,eu,ik}')) over ahead
          as ended_at,
        min(place) filter (where word = any (behind)) over back as denies_at,
        min(place) filter (where word = any (ends) or word = ',') over back as begins_at
      from string_to_table(said, ' ') with ordinality as listed (word, place)
      window
        ahead as (order by place rows between 5 preceding and current row),
        back as (order by place rows between current row and 4 following)
    ) as listed
    where word !~ '^[.,]?$' and (denied_at > coalesce(ended_at, 0) and denied_at < place
      or denies_at < coalesce(begins_at, place + 9) and denies_at > place)
  );
end
$$;
comment on function private.denied_words(text) is
  'What interests and biography say not to have, do or like, as lexemes: the words up to five behind "no" or up to four
before "is forbidden", in nine languages, but not beyond a sentence or a "but". functions/users/query_words.ts has their
forms, and the deniers of queries.';
