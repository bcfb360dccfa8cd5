set local lock_timeout = '500ms';

ALTER TABLE "public"."messages"
  VALIDATE CONSTRAINT "a message says something or carries an attachment";
