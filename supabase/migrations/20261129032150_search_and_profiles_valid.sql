set local lock_timeout = '500ms';

ALTER TABLE "public"."profiles"
  VALIDATE CONSTRAINT "languages has at most 200 characters",
  VALIDATE CONSTRAINT "languages is one line that shows something";
