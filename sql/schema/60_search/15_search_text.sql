-- How texts become words of the index.

create function private.to_latin(letters text)
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  pairs constant text[] := array[
    'ου', 'ou', 'θ', 'th', 'χ', 'ch', 'ψ', 'ps', 'щ', 'shch', 'ш', 'sh', 'ч', 'ch', 'ж', 'zh', 'х', 'kh', 'ц', 'ts',
    'ю', 'yu', 'я', 'ya', 'є', 'ye', 'ђ', 'dj', 'љ', 'lj', 'њ', 'nj', 'џ', 'dz', 'ѕ', 'dz', 'ъ', '', 'ь', ''
  ];
begin
  if letters !~ '[\u0370-\u03ff\u0400-\u04ff]' then
    return letters;
  end if;
  for place in 1..cardinality(pairs) by 2 loop
    letters := replace(letters, pairs[place], pairs[place + 1]);
  end loop;
  return translate(
    letters,
    'абвгдезийклмнопрстуфыэіїґўјћѓќαβγδεζηικλμνξοπρσςτυφω',
    'abvgdeziyklmnoprstufyeiigujcgkavgdeziiklmnxoprsstyfo'
  );
end
$$;
comment on function private.to_latin(text) is
  'Lower-case Greek and Cyrillic letters in their usual Latin spelling, as functions/_shared/fold.ts.';

create function private.fold(value text)
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  -- Letters without accents, at a tenth of the time.
  if octet_length(value) = char_length(value) then
    return lower(value collate "C");
  end if;
  return private.to_latin(lower(extensions.unaccent('extensions.unaccent', normalize(value, nfkc))));
end
$$;
comment on function private.fold(text) is
  'Folds case, accents, compatibility forms and scripts. Immutable while the dictionary unaccent is.';

create function private.unspaced_letters()
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$ begin
  return '\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff';
end $$;
comment on function private.unspaced_letters() is
  'The letters of Han, kana, Thai, Lao, Khmer and Burmese, for a character class.';

create function private.words_of(value text)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select coalesce(array_agg(left(matches.word[1], 60) order by matches.position), '{}')
    from regexp_matches(
      -- Collations disagree on what is punctuation: to ICU « and emoji are letters.
      regexp_replace(private.fold(value), '([' || private.unspaced_letters() || '])', ' \1 ', 'g')
        collate pg_catalog.pg_c_utf8,
      '[^[:space:][:punct:][:cntrl:]]+', 'g'
    ) with ordinality as matches (word, position)
  );
end
$$;
comment on function private.words_of(text) is
  'The folded words of a text, in order; each character of a script without spaces.';

create function private.lexeme(word text)
returns text
language sql immutable parallel safe
as $$
  select '''' || replace(replace(word, '\', '\\'), '''', '''''') || ''''
$$;
comment on function private.lexeme(text) is 'A word as a tsvector or tsquery spells it.';

create function private.latin_spelling(word text)
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  latin text := normalize(word, nfkc);
  sounds constant text[] := string_to_array(
    'きゃ kya きゅ kyu きょ kyo しゃ sha しゅ shu しょ sho ちゃ cha ちゅ chu ちょ cho にゃ nya にゅ nyu にょ nyo ひゃ hya ひゅ hyu '
    'ひょ hyo みゃ mya みゅ myu みょ myo りゃ rya りゅ ryu りょ ryo ぎゃ gya ぎゅ gyu ぎょ gyo じゃ ja じゅ ju じょ jo びゃ bya '
    'びゅ byu びょ byo ぴゃ pya ぴゅ pyu ぴょ pyo あ a い i う u え e お o か ka き ki く ku け ke こ ko さ sa し shi す su '
    'せ se そ so た ta ち chi つ tsu て te と to な na に ni ぬ nu ね ne の no は ha ひ hi ふ fu へ he ほ ho ま ma み mi '
    'む mu め me も mo や ya ゆ yu よ yo ら ra り ri る ru れ re ろ ro わ wa を o ん n が ga ぎ gi ぐ gu げ ge ご go ざ za '
    'じ ji ず zu ぜ ze ぞ zo だ da ぢ ji づ zu で de ど do ば ba び bi ぶ bu べ be ぼ bo ぱ pa ぴ pi ぷ pu ぺ pe ぽ po '
    'ა a ბ b გ g დ d ე e ვ v ზ z თ t ი i კ k ლ l მ m ნ n ო o პ p ჟ zh რ r ს s ტ t უ u ფ p ქ k ღ gh ყ q შ sh ჩ ch ც ts '
    'ძ dz წ ts ჭ ch ხ kh ჯ j ჰ h क k ख kh ग g घ gh ङ n च ch छ chh ज j झ jh ञ n ट t ठ th ड d ढ dh ण n त t थ th द d '
    'ध dh न n प p फ ph ब b भ bh म m य y र r ल l ळ l व v श sh ष sh स s ह h अ a आ a इ i ई i उ u ऊ u ऋ ri ए e ऐ ai ओ o '
    'औ au ा a ि i ी i ु u ू u ृ ri े e ै ai ो o ौ au ं n ँ n ः h', ' '
  );
begin
  if latin !~ '^([ぁ-ゖァ-ヶー]+|[\u10d0-\u10f0]+|[\u0901-\u094d]+)$' then
    return null;
  end if;
  -- Katakana are hiragana 96 further on.
  latin := translate(
    latin,
    (select string_agg(chr(code), '' order by code) from generate_series(12449, 12534) as code),
    (select string_agg(chr(code), '' order by code) from generate_series(12353, 12438) as code)
  );
  -- A consonant of Devanagari has an a, unless another vowel or nothing follows.
  latin := regexp_replace(latin, '([\u0915-\u0939]\u093c?)(?=[\u0901-\u0939])', '\1a', 'g');
  for place in 1..cardinality(sounds) by 2 loop
    latin := replace(latin, sounds[place], sounds[place + 1]);
  end loop;
  -- A small tsu doubles what follows; long vowels are written once.
  latin := regexp_replace(translate(latin, e'ー\u093c\u094d', ''), 'っ(.)', '\1\1', 'g');
  return regexp_replace(regexp_replace(latin, 'ou', 'o', 'g'), '([aiueo])\1', '\1', 'g');
end
$$;
comment on function private.latin_spelling(text) is
  'Kana as Hepburn, without long vowels, and Georgian and Devanagari as names are written; else null.';

create function private.hangul_spelling(word text)
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  -- As families write themselves, where that is not the Revised Romanization.
  surnames constant text[] := string_to_array(
    '김 kim 이 lee 박 park 최 choi 정 jung 강 kang 조 cho 윤 yoon 임 lim 오 oh 신 shin 유 yoo 안 ahn 권 kwon 고 ko 문 moon '
    '노 noh 우 woo 주 joo 구 koo 심 shim 곽 kwak', ' '
  );
  -- A syllable is one of 19, of 21 and of 28 (The Unicode Standard, 3.12).
  initials constant text[] := string_to_array('g kk n d tt r m b pp s ss  j jj ch k t p h', ' ');
  vowels constant text[] := string_to_array('a ae ya yae eo e yeo ye o wa wae oe yo u wo we wi yu eu ui i', ' ');
  finals constant text[] := string_to_array(' k k k n n n t l k m l l l p l m p p t t ng t t k t p t', ' ');
begin
  if word !~ '^[가-힣]+$' then
    return null;
  end if;
  return (
    select string_agg(coalesce(
      case when place = 1 and char_length(word) in (1, 3) then surnames[array_position(surnames, letter) + 1] end,
      initials[code / 588 + 1] || vowels[code % 588 / 28 + 1] || finals[code % 28 + 1]
    ) || case when place = 1 and char_length(word) = 3 then ' ' else '' end, '' order by place)
    from string_to_table(word, null) with ordinality as letters (letter, place)
    cross join lateral (select ascii(letter) - ascii('가') as code) as numbered
  );
end
$$;
comment on function private.hangul_spelling(text) is
  'A Korean name in Latin letters; of three syllables, the first is the surname, and a word of its own. Else null.';

create function private.consonants(word text)
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return '~' || case when word ~ '^[\u0590-\u05ff\u0600-\u06ff]+$'
    then 'abjad ' || regexp_replace(translate(
      regexp_replace(replace(word, 'צ', 'ts'), '[הةه]$', ''),
      'بتثجحخدذرزسشصضطظغفقكلمنهبגדזחטכךלמםנןספףץקרשתה' || 'پچگژ' || 'אעויةاأإآءؤئىيوع',
      'bttjhkddrzsssdtzgfkklmnhbgdzhtkklmmnnsffskrsth' || 'bcgz'
    ), '(.)\1+', '\1', 'g')
    else 'latin ' || regexp_replace(translate(
      regexp_replace(regexp_replace(
        replace(replace(replace(word, 'sh', 's'), 'ph', 'f'), 'tz', 'ts'), '([tdkcg])h', '\1', 'g'
      ), 'h$', ''),
      'pvcqxaeiouyw', 'fbkks'
    ), '(.)\1+', '\1', 'g')
  end;
end
$$;
comment on function private.consonants(text) is
  'What a name in Arabic or Hebrew letters and its Latin spelling have in common, behind a sign of the script.';

create function private.facet(kind text, value text)
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$ begin return '@' || kind || ' ' || replace(left(private.fold(trim(value)), 200), '*', '∗'); end $$;
comment on function private.facet(text, text) is
  'A lexeme for a value that filters compare. An asterisk would end a beginning in private.any_term.';

create function private.words_vector(profile public.profiles, name text, interests text[])
returns tsvector
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    with texts (number, weight, value) as (
      values
        (1, 'A', name), (2, 'A', profile.first_name), (3, 'A', profile.last_name), (4, 'C', profile.city),
        (5, 'C', profile.country), (1000, 'D', profile.biography), (1001, 'D', profile.languages)
      union all
      select 5 + ordinality, 'B', interest from unnest(interests) with ordinality as listed (interest, ordinality)
    ),
    words (word, weight, position) as (
      (
        -- Two positions lie between two texts, so that no phrase reaches across them. A tsvector has 16,383, and some
        -- characters fold into many words.
        select word, weight, 2 * number + row_number() over (order by number, place)
        from texts
        cross join lateral unnest(private.words_of(value)) with ordinality as listed (word, place)
        order by number, place
        limit 14000
      )
      union all
      -- Names as other scripts spell them. One consonant is no name.
      select spelling, weight, 16383
      from texts
      cross join lateral regexp_split_to_table(private.fold(value), '[[:space:][:punct:]]+') as part
      cross join lateral unnest(array[
        private.latin_spelling(part), private.consonants(part), private.consonants(substring(part from '^ال(.+)'))
      ] || string_to_array(private.hangul_spelling(part), ' ')) as spelling
      where weight = 'A' and spelling !~ '^~\w+ .?$'
      union all
      select '@in ' || tag, 'C', 16383 from unnest(private.place_tags(profile.city, profile.country)) as tag
    )
    select coalesce(string_agg(private.lexeme(word) || ':' || position || weight, ' '), '') from words
  )::tsvector || array_to_tsvector(array(
    select private.facet('interest', interest) from unnest(interests) as interest
    union
    select unnest(private.denied_words(array_to_string(interests || profile.biography, '. ')))
    union
    select private.facet('name', array_to_string(private.words_of(name), ' '))
    union
    select private.facet('city', profile.city) where profile.city is not null
    union
    select private.facet('country', profile.country) where profile.country is not null
    union
    select private.facet('age', coalesce(profile.age::text, 'unknown'))
  ));
end
$$;
comment on function private.words_vector(public.profiles, text, text[]) is 'The private.search_words of a profile.';

create function private.entry_text(profile bigint)
returns text
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select concat_ws('. ', nullif(array_to_string(interests, ', '), ''), concat_ws(', ', city, country), biography)
    from private.search_entries
    where profile_id = profile
  );
end
$$;
comment on function private.entry_text(bigint) is 'The text that a profile''s embedding is made from.';

create function private.context_text(person bigint)
returns text
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select concat_ws('. ', (
      select string_agg(interests.name, ', ' order by interests.name)
      from public.profiles
      join public.profile_interests on profile_interests.profile_id = profiles.id
      join public.interests on interests.id = profile_interests.interest_id
      where profiles.user_id = users.id
    ), users.bio, users.location)
    from public.users
    where id = person and is_active
  );
end
$$;
comment on function private.context_text(bigint) is 'The text that the embedding of a user''s context is made from.';
