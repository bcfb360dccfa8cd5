// Generated from docs/openapi.json by npm run openapi.

export interface paths {
    "/auth/signup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign up; tokens are null where the e-mail must be confirmed first
         * @description Creates an account with its profile, and logs in. Where the project confirms e-mail addresses, the tokens are null, and a taken address is answered like a free one.
         */
        post: operations["signUp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Log in
         * @description Send `access_token` as a bearer token from then on; it works for `expires_in` seconds.
         */
        post: operations["logIn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * New tokens for a refresh token
         * @description Exchanges a refresh token, which works once, for a new session.
         */
        post: operations["refreshSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End the session of the token
         * @description Its refresh token stops working at once, the access token when it expires.
         */
        post: operations["logOut"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/recover": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a link to choose a new password, if there is such an account
         * @description Whether there is such an account shows neither in the answer nor in its time.
         */
        post: operations["recoverPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a user, for administration and seeding
         * @description Like signing up, but without a session. With the secret key the account is confirmed at once, without a mail, and may have a role of choice. Without a password the person logs in after recovering one.
         */
        post: operations["createUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The caller with profile and interests
         * @description The account, the profile and the interests of the caller.
         */
        get: operations["getMe"];
        put?: never;
        post?: never;
        /**
         * Erase the caller: account, log-in, profile, interests and blocks; the partners keep the conversations
         * @description Cannot be undone. The partners keep their conversations, with an erased account in them.
         */
        delete: operations["eraseMe"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All data of the caller, including received messages
         * @description One JSON file, streamed, with everything that the service knows about the caller.
         */
        get: operations["exportMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/reservations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A page of the caller's reservations, newest first; the Link header names the next one
         * @description Those of all conversations, each with the partner.
         */
        get: operations["listMyReservations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/reports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A page of the caller's reports, newest first; the Link header names the next one
         * @description With what has become of each.
         */
        get: operations["listMyReports"];
        put?: never;
        /**
         * Report a person or a message to the moderators; with an Idempotency-Key, exactly once
         * @description The reported person learns nothing of it but a warning. While a report of the same person or message is open, it is returned with status 200; what the repeat shares or blocks is still done.
         */
        post: operations["reportPerson"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/blocks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The users whom the caller has blocked, latest first
         * @description People do not see who has blocked them.
         */
        get: operations["listBlocks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/blocks/{user_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Block a user: stops new conversations, messages and search hits both ways
         * @description Neither of the two can write to, offer to or find the other. Blocking again changes nothing.
         */
        put: operations["blockUser"];
        post?: never;
        /**
         * Unblock a user
         * @description The conversation goes on where it was.
         */
        delete: operations["unblockUser"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/devices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The caller's devices, newest first
         * @description The devices that get pushes. One whose push service says that it is gone is removed by itself.
         */
        get: operations["listDevices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/devices/{device}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Register a Web Push subscription, at most ten
         * @description Send it again whenever the browser has a new subscription: it replaces that of the same device.
         */
        put: operations["registerDevice"];
        post?: never;
        /**
         * Remove a device
         * @description Do so when somebody logs out. Removing it again changes nothing.
         */
        delete: operations["removeDevice"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/notifications": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What the caller is told while away, and when
         * @description The defaults, until the caller has changed them.
         */
        get: operations["getNotificationSettings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change the given settings
         * @description Absent settings stay unchanged.
         */
        patch: operations["updateNotificationSettings"];
        trace?: never;
    };
    "/users/push-key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The public key for Web Push subscriptions
         * @description Give it to `pushManager.subscribe` as `applicationServerKey`. The answer can be cached for an hour.
         */
        get: operations["getPushKey"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/unsubscribe": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whether the token of a mail still gets mails; a page that asks, for browsers
         * @description Changes nothing, because mail programs follow links by themselves.
         */
        get: operations["checkUnsubscribe"];
        put?: never;
        /**
         * Turn off the mails by the token of one, without log-in (RFC 8058)
         * @description What the button of a mail program sends. A repeat changes nothing.
         */
        post: operations["unsubscribe"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/profile": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Update the given fields
         * @description Absent fields stay unchanged, null clears a field. Answers like `GET /users/me`.
         */
        patch: operations["updateProfile"];
        trace?: never;
    };
    "/users/profile/interests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Replace the set of interests
         * @description The given interests replace those that the profile has; an empty list removes all.
         */
        put: operations["setInterests"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/searchable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Show or hide the profile
         * @description A hidden profile is in no search and has no public view. Conversations go on.
         */
        patch: operations["setSearchable"];
        trace?: never;
    };
    "/users/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search profiles by keywords and by meaning
         * @description Finds the searchable profiles of active users by words and by meaning, best first. Nobody is found across a block. With a token the interests, bio and location of the caller, who is no hit, order the hits; with `like` that profile takes their place.
         */
        get: operations["searchProfiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/search/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What a search box may go on to
         * @description Interests, cities and displayed names that have the typed text at their beginning or from a later word on, whatever its case and accents, of the profiles that the caller's searches find. Nothing typed completes to nothing. With `places` it completes cities of the world instead, by any of their names, the largest first. Counts as a search for the rate limit.
         */
        get: operations["completeSearch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/interests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All interests
         * @description Every interest that a profile can name, by name. The answer can be cached for an hour.
         */
        get: operations["listInterests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The public view of a profile
         * @description What everybody may see of a searchable profile. Send the ETag as If-None-Match to get 304 while it is unchanged.
         */
        get: operations["getPublicProfile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/conversations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The caller's conversations, latest activity first
         * @description The inbox. `Messages` has the conversation's latest message, and is empty before the first one. Without `limit` all conversations.
         */
        get: operations["listConversations"];
        put?: never;
        /**
         * Open a conversation with another user
         * @description The caller becomes the voyager, the other user the local. Two people have one conversation at most, whoever opened it; its id is in the answer 409.
         */
        post: operations["openConversation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/conversations/unread": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Unread messages, in total and by conversation
         * @description Only conversations with unread messages are listed.
         */
        get: operations["countUnread"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/conversations/states": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The conversations that the caller has archived, muted or pinned, by descending conversation_id
         * @description Only the conversations with something other than the default.
         */
        get: operations["listConversationStates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/conversations/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What has changed since the last request, in all conversations
         * @description Brings a client up to date after any absence, whatever the number of conversations. Begin without `after`, read what you show, and keep the cursor; from then on read only what each answer names. A message that an admin has corrected is `message` again; one that its sender has corrected or taken back is `message.changed`. `state` is how you have arranged a conversation, or that you have blocked or unblocked the partner; nobody learns it of others.
         */
        get: operations["listChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/conversations/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The messages that have all words of a query, in all of the caller's conversations or one
         * @description Newest first. Case and accents do not matter, the last word may be the beginning of one, and of words with 5 letters or more one may be wrong, but the first. A page may have fewer messages than `limit`, or none, and still have a Link: a search of a very long history looks at it in parts. A text without words finds nothing. Counts as a search for the rate limit.
         */
        get: operations["searchMessages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/conversations/{id}/state": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Archive, mute or pin a conversation for oneself; what is absent stays unchanged
         * @description The other participant does not see it. A newer message brings an archived conversation back.
         */
        put: operations["setConversationState"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/conversations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A conversation with its reservations
         * @description The two participants and their reservations. Messages have a list of their own.
         */
        get: operations["getConversation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/conversations/{id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A page of messages; the Link header names the next one
         * @description Newest first, 50 to a page. To page on, follow the Link header: with `before_id` or `after_id` messages that arrive in between shift nothing.
         */
        get: operations["listMessages"];
        put?: never;
        /**
         * Send a message; with an Idempotency-Key, exactly once
         * @description With an Idempotency-Key (or `client_id`) a repeat returns the first answer, so sending again after a lost connection creates nothing twice. The other participant gets an event of Realtime.
         */
        post: operations["sendMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/conversations/{id}/messages/{messageId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Take a message of one's own back
         * @description For both, within a day (UNSEND_HOURS). In its place stays a message with empty `content`, without attachment, and `read`, because nothing is left to read. Its file is removed. What was reported before stays with the moderators.
         */
        delete: operations["unsendMessage"];
        options?: never;
        head?: never;
        /**
         * Correct a message of one's own
         * @description Replaces the text within 15 minutes (EDIT_MINUTES); a file stays, and so does whether it was read. The other participant gets an event, and no new notification.
         */
        patch: operations["editMessage"];
        trace?: never;
    };
    "/conversations/{id}/messages/{messageId}/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Mark a received message as read
         * @description Marking it again changes nothing.
         */
        patch: operations["markMessageRead"];
        trace?: never;
    };
    "/conversations/{id}/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Mark all received messages up to one as read
         * @description One request for everything that is on the screen.
         */
        post: operations["markConversationRead"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/conversations/{id}/reservations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Offer a reservation; with an Idempotency-Key, exactly once
         * @description Either participant offers, and the other one answers. Without an answer it is cancelled at its date.
         */
        post: operations["offerReservation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/conversations/{id}/reservations/{rid}.ics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What is agreed, as a file for a calendar
         * @description In iCalendar, with title and time. A later file of the same reservation replaces it in the calendar.
         */
        get: operations["getReservationFile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/conversations/{id}/reservations/{rid}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A reservation with its history
         * @description The history has every step, with who made it and what it said.
         */
        get: operations["getReservation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Make a counter-offer, which the other participant answers
         * @description Changes a pending reservation. Now the other participant is the one who can accept or decline it. `revision` is that of the offer that was read; if it has changed, the answer is 409 and nothing changes.
         */
        patch: operations["counterReservation"];
        trace?: never;
    };
    "/conversations/{id}/reservations/{rid}/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept an offer of the other participant, as it was read
         * @description Only the one who did not make the current offer can accept it, and only while it is pending. A host cannot accept two that overlap. `revision` is that of the offer that was read; if it has changed, the answer is 409 and nothing is accepted.
         */
        post: operations["acceptReservation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/conversations/{id}/reservations/{rid}/decline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decline an offer of the other participant, as it was read
         * @description Only the one who did not make the current offer can decline it, and only while it is pending. `revision` as in accept.
         */
        post: operations["declineReservation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/conversations/{id}/reservations/{rid}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a reservation that is pending or accepted
         * @description Either participant can cancel what is pending or accepted, whatever has become of the partner. If one has blocked the other, the note is dropped.
         */
        post: operations["cancelReservation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/conversations/{id}/reservations/{rid}/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Complete an accepted reservation that has ended
         * @description The clock completes an accepted reservation at its end. So this changes nothing, and answers 409 before the end.
         */
        post: operations["completeReservation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whether the service is up
         * @description `pending` counts the profiles that are not embedded yet; they are found by words alone until then.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Metrics for Prometheus; needs the secret key, in `apikey` or as a bearer token
         * @description Requests, statements, the embedding queue, the audit of the search index, and migrations.
         */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/embed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Embed the texts in the queue; called by the schedule with the secret key
         * @description `made` counts the texts that were embedded. With an empty queue it is 0.
         */
        post: operations["embedQueue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/notify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send what is due to devices, mailboxes and the webhook; called by the schedule with the secret key
         * @description Plans and sends what is due. `planned` counts the notifications that were planned, and the rest what was sent.
         */
        post: operations["sendNotifications"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @enum {string} */
        ErrorCode: "invalid" | "too_many" | "unauthorized" | "invalid_credentials" | "forbidden" | "deactivated" | "blocked" | "first_contact_limit" | "not_public" | "hidden" | "switched_off" | "not_found" | "method_not_allowed" | "conflict" | "already_open" | "email_taken" | "stale_revision" | "overlap" | "cursor_expired" | "too_large" | "unsupported_media_type" | "key_reused" | "rate_limited" | "internal" | "unavailable";
        SignedUp: {
            user: components["schemas"]["Account"];
            /** @constant */
            token_type: "bearer";
            access_token: string | null;
            refresh_token: string | null;
            expires_in: number | null;
        };
        Account: {
            /** Format: int64 */
            id: number;
            name: string;
            email: string;
            role: components["schemas"]["Role"];
        };
        /** @enum {string} */
        Role: "user" | "admin";
        Error: {
            /** @description What is wrong, in words for a developer */
            error: string;
        };
        Session: {
            user: components["schemas"]["Account"];
            /** @constant */
            token_type: "bearer";
            access_token: string;
            refresh_token: string;
            /** Format: int64 */
            expires_in: number;
        };
        User: {
            /** Format: int64 */
            id: number;
            name: string;
            email: string;
            bio: string | null;
            location: string | null;
            role: components["schemas"]["Role"];
            is_active: boolean;
            Profile: components["schemas"]["Profile"];
            /** @description With more=true: of moderators, the latest first */
            warnings?: components["schemas"]["Warning"][];
        };
        Profile: {
            /** Format: int64 */
            id: number;
            first_name: string | null;
            last_name: string | null;
            age: number | null;
            biography: string | null;
            country: string | null;
            city: string | null;
            image_url: string | null;
            /** Format: int64 */
            user_id: number;
            is_searchable: boolean;
            /** @description With more=true: whether the public view has answers */
            show_answers?: boolean;
            /** @description With more=true */
            languages?: string | null;
            Interests: components["schemas"]["Interest"][];
        };
        Interest: {
            /** Format: int64 */
            id: number;
            name: string;
        };
        Warning: {
            reason: components["schemas"]["ReportReason"];
            /** Format: date-time */
            createdAt: string;
        };
        /** @enum {string} */
        ReportReason: "spam" | "harassment" | "scam" | "danger" | "impersonation" | "other";
        Export: {
            /** Format: date-time */
            exported_at: string;
            user: {
                /** Format: int64 */
                id: number;
                name: string;
                email: string;
                bio: string | null;
                location: string | null;
                role: components["schemas"]["Role"];
                is_active: boolean;
                /** Format: date-time */
                createdAt: string;
            };
            profile: {
                /** Format: int64 */
                id: number;
                first_name: string | null;
                last_name: string | null;
                age: number | null;
                biography: string | null;
                country: string | null;
                city: string | null;
                image_url: string | null;
                /** Format: int64 */
                user_id: number;
                is_searchable: boolean;
                show_answers: boolean;
                languages: string | null;
            };
            interests: components["schemas"]["Interest"][];
            blocks: components["schemas"]["Block"][];
            devices: components["schemas"]["Device"][];
            notifications: components["schemas"]["NotificationSettings"];
            answers: components["schemas"]["Answers"] | null;
            warnings: components["schemas"]["Warning"][];
            conversations: {
                /** Format: int64 */
                id: number;
                /** Format: int64 */
                voyager_id: number;
                /** Format: int64 */
                local_id: number;
                Voyager: {
                    /** Format: int64 */
                    id: number;
                    name: string;
                    email: string;
                };
                Local: {
                    /** Format: int64 */
                    id: number;
                    name: string;
                    email: string;
                };
                /** Format: date-time */
                createdAt: string;
                Reservations: components["schemas"]["ReservationWithHistory"][];
                state: {
                    /** @description Until a newer message comes */
                    archived: boolean;
                    /** @description No notifications until then; unread messages are counted as before */
                    muted_until: string | null;
                    pinned: boolean;
                };
                messages: components["schemas"]["Message"][];
            }[];
            reports: {
                /** Format: int64 */
                id: number;
                reason: components["schemas"]["ReportReason"];
                /**
                 * Format: int64
                 * @description Who was reported
                 */
                user_id: number;
                message_id: number | null;
                note: string | null;
                share_messages: boolean;
                status: components["schemas"]["ReportStatus"];
                /** Format: date-time */
                createdAt: string;
                resolvedAt: string | null;
            }[];
        };
        Block: {
            /** Format: int64 */
            user_id: number;
            name: string;
            /** Format: date-time */
            createdAt: string;
        };
        Device: {
            /** Format: uuid */
            id: string;
            endpoint: string;
            keys: {
                p256dh: string;
                auth: string;
            };
            /** Format: date-time */
            createdAt: string;
        };
        NotificationSettings: {
            /** @description Whether to send pushes */
            push: boolean;
            /** @description Whether to send mails */
            email: boolean;
            /**
             * Format: int32
             * @description For how long a message must be unread before a mail tells of it
             */
            delay_minutes: number;
            /** @description Nothing is sent in these hours; null: none */
            quiet_hours: {
                from: string;
                to: string;
                time_zone: string;
            } | null;
            /** @description Whether pushes and mails quote the latest message */
            previews: boolean;
        };
        /** @enum {string} */
        Answers: "within an hour" | "within a day" | "within a week";
        ReservationWithHistory: {
            /** Format: int64 */
            id: number;
            /** Format: int64 */
            conversation_id: number;
            title: string;
            /** Format: double */
            price: number;
            /** Format: date-time */
            date: string;
            ends_at: string | null;
            status: components["schemas"]["ReservationStatus"];
            /**
             * Format: int64
             * @description Who receives the other
             */
            host_id: number;
            /** @description Who made the current offer; null for an admin */
            offered_by: number | null;
            /**
             * Format: int64
             * @description Of the terms: one more with every change of title, price, date or ends_at
             */
            revision: number;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            /** @description Every step, oldest first */
            history: components["schemas"]["ReservationStep"][];
        };
        /** @enum {string} */
        ReservationStatus: "pending" | "accepted" | "declined" | "cancelled" | "completed";
        ReservationStep: {
            status: components["schemas"]["ReservationStatus"];
            /** @description A user id; null for an admin or the clock */
            by: number | null;
            note: string | null;
            title: string;
            /** Format: double */
            price: number;
            /** Format: date-time */
            date: string;
            ends_at: string | null;
            /** Format: date-time */
            createdAt: string;
        };
        Message: {
            /** Format: int64 */
            id: number;
            /** Format: int64 */
            user_id: number;
            /** Format: int64 */
            conversation_id: number;
            content: string;
            attachment: components["schemas"]["Attachment"] | null;
            read: boolean;
            /** Format: date-time */
            createdAt: string;
            Sender: {
                /** Format: int64 */
                id: number;
                name: string;
            };
            /** @description With states=true: when its sender last corrected it */
            editedAt?: string | null;
            /** @description With states=true: when its sender took it back; its content is empty since */
            deletedAt?: string | null;
        };
        Attachment: {
            /** @description An https URL, or a path in the private bucket attachments */
            url: string;
            /** @description The name to show */
            name: string;
            /** @description For example image/jpeg; must be what the file in the bucket is */
            mime_type: string;
            /**
             * Format: int64
             * @description In bytes
             */
            size: number;
        };
        /** @enum {string} */
        ReportStatus: "open" | "resolved";
        MyReservation: {
            /** Format: int64 */
            id: number;
            /** Format: int64 */
            conversation_id: number;
            title: string;
            /** Format: double */
            price: number;
            /** Format: date-time */
            date: string;
            ends_at: string | null;
            status: components["schemas"]["ReservationStatus"];
            /**
             * Format: int64
             * @description Who receives the other
             */
            host_id: number;
            /** @description Who made the current offer; null for an admin */
            offered_by: number | null;
            /**
             * Format: int64
             * @description Of the terms: one more with every change of title, price, date or ends_at
             */
            revision: number;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            partner: {
                /** Format: int64 */
                id: number;
                name: string;
            };
        };
        MyReport: {
            /** Format: int64 */
            id: number;
            reason: components["schemas"]["ReportReason"];
            status: components["schemas"]["ReportStatus"];
            /** Format: date-time */
            createdAt: string;
            resolvedAt: string | null;
        };
        Report: {
            /** Format: int64 */
            id: number;
            reason: components["schemas"]["ReportReason"];
            /** @constant */
            status: "open";
            /** Format: date-time */
            createdAt: string;
        };
        SearchResult: {
            hits: components["schemas"]["SearchHit"][];
            query: string;
            /** Format: int64 */
            estimatedTotalHits: number;
            /** Format: int64 */
            limit: number;
            /** Format: int64 */
            offset: number;
            _suggestion?: {
                query: string;
                words: {
                    from: string;
                    to: string;
                }[];
            } | null;
            _understood?: {
                /** @description The text whose meaning was looked for */
                text: string;
                /** @description The words that were looked for */
                words: string[];
                /** @description What was denied in words */
                excluded: string[];
                /** @description Words without a meaning of their own */
                left_out: string[];
                /** @description Names of places, and their adjectives */
                places: string[];
                /** @description The age, both ends included */
                age: {
                    /** Format: int64 */
                    min: number;
                    /** Format: int64 */
                    max: number;
                } | null;
            };
            /**
             * @description With facets: how many people have each value, the most frequent first, among all that match after filters. Where more than 1,000 match, among 1,100 of them at most
             * @example {
             *       "interests": {
             *         "Hiking": 12,
             *         "Jazz": 3
             *       },
             *       "city": {
             *         "Lisbon": 9
             *       }
             *     }
             */
            facetDistribution?: {
                [key: string]: {
                    [key: string]: number;
                };
            };
        };
        SearchHit: {
            /** Format: int64 */
            id: number;
            /** Format: int64 */
            user_id: number;
            name: string;
            biography: string | null;
            city: string | null;
            country: string | null;
            interests: string[];
            image_url: string | null;
            /** Format: double */
            _rankingScore: number;
            _rankingScoreDetails?: {
                [key: string]: unknown;
            };
            /**
             * @description With highlight=true: where the hit has words of the query, by field as printed, `_snippet` included. A match is one or more whole words. Fields without a match are left out
             * @example {
             *       "interests": [
             *         {
             *           "index": 1,
             *           "start": 0,
             *           "length": 7
             *         }
             *       ],
             *       "biography": [
             *         {
             *           "start": 12,
             *           "length": 6
             *         }
             *       ]
             *     }
             */
            _matches?: {
                [key: string]: {
                    /**
                     * Format: int64
                     * @description Which of the values, from 0, where the field has several (interests)
                     */
                    index?: number;
                    /**
                     * Format: int64
                     * @description The first character, from 0, in Unicode code points
                     */
                    start: number;
                    /**
                     * Format: int64
                     * @description The number of characters, in Unicode code points
                     */
                    length: number;
                }[];
            };
            /** @description With highlight=true: plain text, the 160 characters of the biography that have the most words of the query, or its first ones. Cut between words; an ellipsis (…), which counts, marks what is left out. Null without a biography */
            _snippet?: string | null;
        };
        /** @enum {string} */
        Facet: "interests" | "city" | "country";
        Completions: {
            interests: string[];
            cities: string[];
            names: string[];
        };
        PublicProfile: {
            /** Format: int64 */
            id: number;
            name: string;
            profile: {
                /** Format: int64 */
                id: number;
                first_name: string | null;
                last_name: string | null;
                age: number | null;
                biography: string | null;
                country: string | null;
                city: string | null;
                image_url: string | null;
                interests: components["schemas"]["Interest"][];
            };
            /** @description With more=true: how soon this person answers in half of the conversations in which others wrote first, in the last 90 days. Null if these are fewer than five, if it takes longer, or if the person does not want it to be shown. Computed once a day */
            answers?: components["schemas"]["Answers"] | null;
            /** @description With more=true: which ones this person speaks, in their own words */
            languages?: string | null;
            /** @description With more=true: the time zone of city and country by its IANA name; null if it is unknown */
            time_zone?: string | null;
        };
        Conversation: {
            /** Format: int64 */
            id: number;
            /** Format: int64 */
            voyager_id: number;
            /** Format: int64 */
            local_id: number;
            Voyager: {
                /** Format: int64 */
                id: number;
                name: string;
                email: string;
            };
            Local: {
                /** Format: int64 */
                id: number;
                name: string;
                email: string;
            };
            Messages: {
                /** Format: int64 */
                id: number;
                content: string;
                /** Format: int64 */
                user_id: number;
                read: boolean;
                /** Format: date-time */
                createdAt: string;
                /** @description With states=true: when its sender last corrected it */
                editedAt?: string | null;
                /** @description With states=true: when its sender took it back; its content is empty since */
                deletedAt?: string | null;
                /** @description With states=true: its file */
                attachment?: components["schemas"]["Attachment"] | null;
            }[];
            /** Format: date-time */
            createdAt: string;
            /** @description With partner=true: the other participant, with what their public profile shows */
            partner?: {
                /** Format: int64 */
                id: number;
                name: string;
                /** @description Null where there is none to see: hidden, inactive, erased, or across a block */
                profile: {
                    /** Format: int64 */
                    id: number;
                    image_url: string | null;
                } | null;
            };
        };
        ConversationState: {
            /** Format: int64 */
            conversation_id: number;
            /** @description Until a newer message comes */
            archived: boolean;
            /** @description No notifications until then; unread messages are counted as before */
            muted_until: string | null;
            pinned: boolean;
        };
        Changes: {
            /** @description Oldest first, each entity once at its latest */
            changes: components["schemas"]["Change"][];
            /** @description For the next request; valid for 30 days, for this user alone */
            cursor: string;
            /** @description Whether another page follows at once */
            more: boolean;
        };
        Change: {
            kind: components["schemas"]["ChangeKind"];
            /** Format: int64 */
            conversation_id: number;
            /**
             * Format: int64
             * @description Of the conversation, reservation or message; for read, of the newest message that was marked as read
             */
            id: number;
        };
        /** @enum {string} */
        ChangeKind: "conversation" | "message" | "read" | "reservation" | "state" | "message.removed" | "message.changed";
        FoundMessage: {
            /** Format: int64 */
            id: number;
            /** Format: int64 */
            user_id: number;
            /** Format: int64 */
            conversation_id: number;
            content: string;
            attachment: components["schemas"]["Attachment"] | null;
            read: boolean;
            /** Format: date-time */
            createdAt: string;
            Sender: {
                /** Format: int64 */
                id: number;
                name: string;
            };
            /** @description With states=true: when its sender last corrected it */
            editedAt?: string | null;
            /** @description With states=true: when its sender took it back; its content is empty since */
            deletedAt?: string | null;
            /** @description Plain text, at most 160 characters: the part of the content that has the most words of the query, cut between words; an ellipsis (…), which counts, marks what is left out */
            _snippet: string;
        };
        ConversationDetail: {
            /** Format: int64 */
            id: number;
            Voyager: {
                /** Format: int64 */
                id: number;
                name: string;
            };
            Local: {
                /** Format: int64 */
                id: number;
                name: string;
            };
            Reservations: components["schemas"]["Reservation"][];
        };
        Reservation: {
            /** Format: int64 */
            id: number;
            title: string;
            /** Format: double */
            price: number;
            /** Format: date-time */
            date: string;
            status: components["schemas"]["ReservationStatus"];
        };
        ReservationDetail: {
            /** Format: int64 */
            id: number;
            /** Format: int64 */
            conversation_id: number;
            title: string;
            /** Format: double */
            price: number;
            /** Format: date-time */
            date: string;
            ends_at: string | null;
            status: components["schemas"]["ReservationStatus"];
            /**
             * Format: int64
             * @description Who receives the other
             */
            host_id: number;
            /** @description Who made the current offer; null for an admin */
            offered_by: number | null;
            /**
             * Format: int64
             * @description Of the terms: one more with every change of title, price, date or ends_at
             */
            revision: number;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        ReservationConflict: {
            error: string;
            status: components["schemas"]["ReservationStatus"];
        };
    };
    responses: {
        /** @description A value is not allowed; the message names it */
        invalid: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                /** @description What is wrong, for programs */
                "X-Error-Code"?: components["schemas"]["ErrorCode"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Any other method */
        method_not_allowed: {
            headers: {
                Allow: components["headers"]["Allow"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                /** @description What is wrong, for programs */
                "X-Error-Code"?: components["schemas"]["ErrorCode"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Over 100 KB */
        too_large: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                /** @description What is wrong, for programs */
                "X-Error-Code"?: components["schemas"]["ErrorCode"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Not JSON */
        unsupported_media_type: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                /** @description What is wrong, for programs */
                "X-Error-Code"?: components["schemas"]["ErrorCode"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Too many requests; Retry-After says when to retry */
        rate_limited: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                /** @description What is wrong, for programs */
                "X-Error-Code"?: components["schemas"]["ErrorCode"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Internal server error */
        internal: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                /** @description What is wrong, for programs */
                "X-Error-Code"?: components["schemas"]["ErrorCode"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The service is busy; Retry-After says when to retry */
        unavailable: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                /** @description What is wrong, for programs */
                "X-Error-Code"?: components["schemas"]["ErrorCode"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description The methods that there are */
        Allow: string;
        /** @description Of this answer, for If-None-Match */
        ETag: string;
        /** @description The request was sent before, and this is its first answer */
        "Idempotency-Replayed": "true";
        /** @description The next page, as `<?…>; rel="next"`, relative to the address of the request; absent on the last page */
        Link: string;
        /** @description Seconds to wait */
        "Retry-After": number;
        /** @description Bearer, with error="invalid_token" if a token was sent */
        "WWW-Authenticate": string;
        /** @description As sent, if it is well-formed; else a new one */
        "X-Request-Id": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    signUp: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "lena.brandt@example.com",
                 *       "password": "two-rivers-2026",
                 *       "name": "Lena Brandt",
                 *       "location": "Bremen",
                 *       "interest_ids": [
                 *         29,
                 *         56
                 *       ]
                 *     }
                 */
                "application/json": {
                    /** @description The displayed name */
                    name: string;
                    /** @description One line about oneself */
                    bio?: string | null;
                    /** @description Where one is, in words */
                    location?: string | null;
                    /** @description The first name */
                    first_name?: string | null;
                    /** @description The last name */
                    last_name?: string | null;
                    /** @description In years */
                    age?: number | null;
                    /** @description A text about oneself, which searches read */
                    biography?: string | null;
                    /** @description A name, which searches filter by */
                    country?: string | null;
                    /** @description A name, which searches filter by */
                    city?: string | null;
                    /** @description A picture, as an https URL; on one machine also one of its own Storage, at http://127.0.0.1 */
                    image_url?: string | null;
                    /** @description Whether others can find and see the profile */
                    is_searchable?: boolean;
                    /** @description Whether the public view may say how soon one answers */
                    show_answers?: boolean;
                    /** @description Those that one speaks, which searches read */
                    languages?: string | null;
                    /** @description The whole set of interests */
                    interest_ids?: number[];
                    /**
                     * Format: email
                     * @description The address of the account
                     */
                    email: string;
                    /**
                     * Format: password
                     * @description At most 72 bytes in UTF-8
                     */
                    password: string;
                    /** @description Of a CAPTCHA that was solved, where the project asks for one */
                    captcha_token?: string | null;
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "user": {
                     *         "id": 223,
                     *         "name": "Lena Brandt",
                     *         "email": "lena.brandt@example.com",
                     *         "role": "user"
                     *       },
                     *       "access_token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0YTNhZDJkNiJ9.ViMlPHIXlg6GD1Ot",
                     *       "refresh_token": "01a20548-64b5-7537-b660-1f265e3e25fc",
                     *       "token_type": "bearer",
                     *       "expires_in": 3600
                     *     }
                     */
                    "application/json": components["schemas"]["SignedUp"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description Signing up is switched off */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            /** @description The e-mail is taken */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    logIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "tomas.novak@example.com",
                 *       "password": "voyage-2026"
                 *     }
                 */
                "application/json": {
                    /** @description The address of the account */
                    email: string;
                    /** @description Its password */
                    password: string;
                    /** @description Of a CAPTCHA that was solved, where the project asks for one */
                    captcha_token?: string | null;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "user": {
                     *         "id": 63,
                     *         "name": "Tomáš Novák",
                     *         "email": "tomas.novak@example.com",
                     *         "role": "user"
                     *       },
                     *       "access_token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0YTNhZDJkNiJ9.ViMlPHIXlg6GD1Ot",
                     *       "refresh_token": "01a20548-64b5-7537-b660-1f265e3e25fc",
                     *       "token_type": "bearer",
                     *       "expires_in": 3600
                     *     }
                     */
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description Wrong e-mail or password, or not confirmed yet */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated, or log-in by e-mail is switched off */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    refreshSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "refresh_token": "01a20548-64b5-7537-b660-1f265e3e25fc"
                 *     }
                 */
                "application/json": {
                    /** @description Of the latest session */
                    refresh_token: string;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "user": {
                     *         "id": 63,
                     *         "name": "Tomáš Novák",
                     *         "email": "tomas.novak@example.com",
                     *         "role": "user"
                     *       },
                     *       "access_token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0YTNhZDJkNiJ9.ViMlPHIXlg6GD1Ot",
                     *       "refresh_token": "01a20548-64b5-7537-b660-1f265e3e25fc",
                     *       "token_type": "bearer",
                     *       "expires_in": 3600
                     *     }
                     */
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description The refresh token is not valid */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    logOut: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Logged out */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated or suspended */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    recoverPassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "tomas.novak@example.com"
                 *     }
                 */
                "application/json": {
                    /**
                     * Format: email
                     * @description The address of the account
                     */
                    email: string;
                    /** @description Of a CAPTCHA that was solved, where the project asks for one */
                    captcha_token?: string | null;
                };
            };
        };
        responses: {
            /** @description Success */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "success": true
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        success: true;
                    };
                };
            };
            400: components["responses"]["invalid"];
            /** @description Log-in by e-mail is switched off */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    createUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description The secret key of the project */
                apikey?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "jonas.berg@example.com",
                 *       "name": "Jonas Berg"
                 *     }
                 */
                "application/json": {
                    /** @description The displayed name */
                    name: string;
                    /** @description One line about oneself */
                    bio?: string | null;
                    /** @description Where one is, in words */
                    location?: string | null;
                    /** @description The first name */
                    first_name?: string | null;
                    /** @description The last name */
                    last_name?: string | null;
                    /** @description In years */
                    age?: number | null;
                    /** @description A text about oneself, which searches read */
                    biography?: string | null;
                    /** @description A name, which searches filter by */
                    country?: string | null;
                    /** @description A name, which searches filter by */
                    city?: string | null;
                    /** @description A picture, as an https URL; on one machine also one of its own Storage, at http://127.0.0.1 */
                    image_url?: string | null;
                    /** @description Whether others can find and see the profile */
                    is_searchable?: boolean;
                    /** @description Whether the public view may say how soon one answers */
                    show_answers?: boolean;
                    /** @description Those that one speaks, which searches read */
                    languages?: string | null;
                    /** @description The whole set of interests */
                    interest_ids?: number[];
                    /**
                     * Format: email
                     * @description The address of the account
                     */
                    email: string;
                    /**
                     * Format: password
                     * @description At most 72 bytes in UTF-8
                     */
                    password?: string;
                    /** @description Only the secret key grants admin */
                    role?: components["schemas"]["Role"];
                    /** @description Of a CAPTCHA that was solved, where the project asks for one */
                    captcha_token?: string | null;
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 222,
                     *       "name": "Jonas Berg",
                     *       "email": "jonas.berg@example.com",
                     *       "role": "user"
                     *     }
                     */
                    "application/json": components["schemas"]["Account"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description Only the secret key may create users here */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            /** @description The e-mail is taken */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    getMe: {
        parameters: {
            query?: {
                /** @description Adds show_answers and languages to the profile, and warnings */
                more?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 63,
                     *       "name": "Tomáš Novák",
                     *       "email": "tomas.novak@example.com",
                     *       "bio": "From Prague, usually on a train",
                     *       "location": "Connewitz, Leipzig",
                     *       "role": "user",
                     *       "is_active": true,
                     *       "Profile": {
                     *         "id": 63,
                     *         "user_id": 63,
                     *         "first_name": "Tomáš",
                     *         "last_name": "Novák",
                     *         "age": 29,
                     *         "biography": "Prague raised me, Leipzig pays me: I plan the maintenance of regional trains, which means free weekends and a staff discount I abuse shamelessly. Last year I slept in eleven night trains, photographed every station clock on the way, and walked the Ligurian coast with a tent that leaks. Hosting is not really for me. What I look for is somebody with a hill behind the house, a small brewery in front of it, and no fixed plan for Sunday.",
                     *         "country": "Germany",
                     *         "city": "Leipzig",
                     *         "image_url": "http://127.0.0.1:54321/storage/v1/object/public/avatars/6168535b-033d-4999-863e-1f3178589c71/portrait.webp",
                     *         "is_searchable": true,
                     *         "Interests": [
                     *           {
                     *             "id": 18,
                     *             "name": "Craft beer"
                     *           },
                     *           {
                     *             "id": 29,
                     *             "name": "Hiking"
                     *           },
                     *           {
                     *             "id": 43,
                     *             "name": "Photography"
                     *           },
                     *           {
                     *             "id": 56,
                     *             "name": "Train journeys"
                     *           }
                     *         ]
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    eraseMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Erased */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    exportMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "exported_at": "2026-04-02T08:53:43.046Z",
                     *       "user": {
                     *         "id": 221,
                     *         "name": "Sam Lee",
                     *         "email": "sam.lee@example.com",
                     *         "bio": null,
                     *         "location": null,
                     *         "role": "user",
                     *         "is_active": true,
                     *         "createdAt": "2026-04-02T08:53:43.046Z"
                     *       },
                     *       "profile": {
                     *         "id": 221,
                     *         "age": null,
                     *         "city": null,
                     *         "country": null,
                     *         "user_id": 221,
                     *         "biography": null,
                     *         "image_url": null,
                     *         "languages": null,
                     *         "last_name": null,
                     *         "first_name": null,
                     *         "show_answers": true,
                     *         "is_searchable": false
                     *       },
                     *       "interests": [],
                     *       "blocks": [],
                     *       "devices": [],
                     *       "notifications": {
                     *         "push": true,
                     *         "email": true,
                     *         "delay_minutes": 10,
                     *         "quiet_hours": null,
                     *         "previews": false
                     *       },
                     *       "answers": null,
                     *       "warnings": [],
                     *       "conversations": [],
                     *       "reports": []
                     *     }
                     */
                    "application/json": components["schemas"]["Export"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    listMyReservations: {
        parameters: {
            query?: {
                /**
                 * @description Only reservations with this status
                 * @example accepted
                 */
                status?: components["schemas"]["ReservationStatus"];
                /** @description Only reservations whose date is this or later */
                from?: string;
                /** @description Only reservations whose date is earlier */
                to?: string;
                /**
                 * @description How many; more than 100 are taken as 100
                 * @example 20
                 */
                limit?: number;
                /** @description Only reservations older than this one, for the next page */
                before_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "id": 2,
                     *         "conversation_id": 1,
                     *         "title": "Morning in the tile workshop",
                     *         "price": 35,
                     *         "date": "2026-05-14T16:00:00.000Z",
                     *         "ends_at": "2026-05-16T10:00:00.000Z",
                     *         "status": "accepted",
                     *         "host_id": 47,
                     *         "offered_by": 63,
                     *         "revision": 2,
                     *         "createdAt": "2026-04-02T08:53:43.046Z",
                     *         "updatedAt": "2026-04-02T08:53:43.046Z",
                     *         "partner": {
                     *           "id": 47,
                     *           "name": "Inês Carvalho"
                     *         }
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["MyReservation"][];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    listMyReports: {
        parameters: {
            query?: {
                /**
                 * @description How many; more than 100 are taken as 100
                 * @example 20
                 */
                limit?: number;
                /** @description Only reports older than this one, for the next page */
                before_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "id": 4,
                     *         "status": "open",
                     *         "reason": "spam",
                     *         "createdAt": "2026-04-02T08:53:43.046Z",
                     *         "resolvedAt": null
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["MyReport"][];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    reportPerson: {
        parameters: {
            query?: never;
            header?: {
                /** @description A UUID that the client makes: a repeat with it returns the first answer */
                "idempotency-key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "message_id": 33,
                 *       "reason": "spam",
                 *       "note": "The same text to all of us"
                 *     }
                 */
                "application/json": {
                    /** @description The reported person; either this or message_id */
                    user_id?: number | null;
                    /** @description A message that the caller has received; either this or user_id */
                    message_id?: number | null;
                    /** @description What is wrong */
                    reason: components["schemas"]["ReportReason"];
                    /** @description For the moderators */
                    note?: string | null;
                    /** @description Gives the moderators a copy of the latest 20 messages of the conversation */
                    share_messages?: boolean | null;
                    /** @description Blocks the person as well */
                    block?: boolean | null;
                    /** @description As the header Idempotency-Key */
                    client_id?: string | null;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Report"];
                };
            };
            /** @description Success */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 4,
                     *       "status": "open",
                     *       "reason": "spam",
                     *       "createdAt": "2026-04-02T08:53:43.046Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Report"];
                };
            };
            /** @description A value is not allowed; the message names it */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such user, or no such message in a conversation of the caller */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            /** @description The Idempotency-Key was used with another payload */
            422: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    listBlocks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "user_id": 195,
                     *         "name": "Callum Geddes",
                     *         "createdAt": "2026-04-02T08:53:43.046Z"
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Block"][];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    blockUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The other user's id
                 * @example 195
                 */
                user_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Blocked */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A value is not allowed; the message names it */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such user */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    unblockUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The other user's id
                 * @example 195
                 */
                user_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Not blocked */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such user */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    listDevices: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "id": "3f0c8a52-7f0e-4a3e-9a52-6b1f0d3c2e10",
                     *         "endpoint": "https://push.example.com/send/cK4f2mT9",
                     *         "keys": {
                     *           "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
                     *           "auth": "BTBZMqHH6r4Tts7J_aSIgg"
                     *         },
                     *         "createdAt": "2026-04-02T08:53:43.046Z"
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Device"][];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    registerDevice: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A UUID that the app makes once for each installation
                 * @example 3f0c8a52-7f0e-4a3e-9a52-6b1f0d3c2e10
                 */
                device: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "endpoint": "https://push.example.com/send/cK4f2mT9",
                 *       "keys": {
                 *         "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
                 *         "auth": "BTBZMqHH6r4Tts7J_aSIgg"
                 *       }
                 *     }
                 */
                "application/json": {
                    /**
                     * Format: uri
                     * @description The address of the push service
                     */
                    endpoint: string;
                    /** @description The keys of the subscription, in base64url */
                    keys: {
                        p256dh: string;
                        auth: string;
                    };
                    /** @description As browsers give it; not used */
                    expirationTime?: number | null;
                };
            };
        };
        responses: {
            /** @description Registered */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A value is not allowed; the message names it */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    removeDevice: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A UUID that the app makes once for each installation
                 * @example 3f0c8a52-7f0e-4a3e-9a52-6b1f0d3c2e10
                 */
                device: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Not registered */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    getNotificationSettings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "push": true,
                     *       "email": true,
                     *       "delay_minutes": 10,
                     *       "quiet_hours": null,
                     *       "previews": false
                     *     }
                     */
                    "application/json": components["schemas"]["NotificationSettings"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    updateNotificationSettings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "quiet_hours": {
                 *         "from": "22:00",
                 *         "to": "07:30",
                 *         "time_zone": "Europe/Berlin"
                 *       },
                 *       "previews": true
                 *     }
                 */
                "application/json": {
                    /** @description Whether to send pushes */
                    push?: boolean;
                    /** @description Whether to send mails */
                    email?: boolean;
                    /**
                     * Format: int32
                     * @description For how long a message must be unread before a mail tells of it
                     */
                    delay_minutes?: number;
                    /** @description Nothing is sent in these hours; null: none */
                    quiet_hours?: {
                        from: string;
                        to: string;
                        time_zone: string;
                    } | null;
                    /** @description Whether pushes and mails quote the latest message */
                    previews?: boolean;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "push": true,
                     *       "email": true,
                     *       "delay_minutes": 10,
                     *       "quiet_hours": {
                     *         "from": "22:00",
                     *         "to": "07:30",
                     *         "time_zone": "Europe/Berlin"
                     *       },
                     *       "previews": true
                     *     }
                     */
                    "application/json": components["schemas"]["NotificationSettings"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    getPushKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "public_key": "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM"
                     *     }
                     */
                    "application/json": {
                        /** @description The VAPID key, as applicationServerKey */
                        public_key: string;
                    };
                };
            };
            400: components["responses"]["invalid"];
            /** @description Web Push is not set up */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    checkUnsubscribe: {
        parameters: {
            query: {
                /**
                 * @description The token of the link in a mail
                 * @example 63.0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f
                 */
                token: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "email": true
                     *     }
                     */
                    "application/json": {
                        email: boolean;
                    };
                };
            };
            400: components["responses"]["invalid"];
            /** @description The token is of no mail of ours */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    unsubscribe: {
        parameters: {
            query: {
                /**
                 * @description The token of the link in a mail
                 * @example 63.0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f
                 */
                token: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "email": false
                     *     }
                     */
                    "application/json": {
                        email: boolean;
                    };
                };
            };
            400: components["responses"]["invalid"];
            /** @description The token is of no mail of ours */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    updateProfile: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "bio": "From Prague, nearly always on a train",
                 *       "city": "Leipzig"
                 *     }
                 */
                "application/json": {
                    /** @description The displayed name */
                    name?: string;
                    /** @description One line about oneself */
                    bio?: string | null;
                    /** @description Where one is, in words */
                    location?: string | null;
                    /** @description The first name */
                    first_name?: string | null;
                    /** @description The last name */
                    last_name?: string | null;
                    /** @description In years */
                    age?: number | null;
                    /** @description A text about oneself, which searches read */
                    biography?: string | null;
                    /** @description A name, which searches filter by */
                    country?: string | null;
                    /** @description A name, which searches filter by */
                    city?: string | null;
                    /** @description A picture, as an https URL; on one machine also one of its own Storage, at http://127.0.0.1 */
                    image_url?: string | null;
                    /** @description Whether others can find and see the profile */
                    is_searchable?: boolean;
                    /** @description Whether the public view may say how soon one answers */
                    show_answers?: boolean;
                    /** @description Those that one speaks, which searches read */
                    languages?: string | null;
                    /** @description The whole set of interests */
                    interest_ids?: number[];
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 63,
                     *       "name": "Tomáš Novák",
                     *       "email": "tomas.novak@example.com",
                     *       "bio": "From Prague, nearly always on a train",
                     *       "location": "Connewitz, Leipzig",
                     *       "role": "user",
                     *       "is_active": true,
                     *       "Profile": {
                     *         "id": 63,
                     *         "user_id": 63,
                     *         "first_name": "Tomáš",
                     *         "last_name": "Novák",
                     *         "age": 29,
                     *         "biography": "Prague raised me, Leipzig pays me: I plan the maintenance of regional trains, which means free weekends and a staff discount I abuse shamelessly. Last year I slept in eleven night trains, photographed every station clock on the way, and walked the Ligurian coast with a tent that leaks. Hosting is not really for me. What I look for is somebody with a hill behind the house, a small brewery in front of it, and no fixed plan for Sunday.",
                     *         "country": "Germany",
                     *         "city": "Leipzig",
                     *         "image_url": "http://127.0.0.1:54321/storage/v1/object/public/avatars/6168535b-033d-4999-863e-1f3178589c71/portrait.webp",
                     *         "is_searchable": true,
                     *         "Interests": [
                     *           {
                     *             "id": 18,
                     *             "name": "Craft beer"
                     *           },
                     *           {
                     *             "id": 29,
                     *             "name": "Hiking"
                     *           },
                     *           {
                     *             "id": 43,
                     *             "name": "Photography"
                     *           },
                     *           {
                     *             "id": 56,
                     *             "name": "Train journeys"
                     *           }
                     *         ]
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated, or an admin has hidden the profile and it cannot be made searchable */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    setInterests: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "interest_ids": [
                 *         18,
                 *         29,
                 *         56
                 *       ]
                 *     }
                 */
                "application/json": {
                    /** @description Ids of `GET /users/interests`, 50 at most */
                    interest_ids: number[];
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 63,
                     *       "user_id": 63,
                     *       "Interests": [
                     *         {
                     *           "id": 18,
                     *           "name": "Craft beer"
                     *         },
                     *         {
                     *           "id": 29,
                     *           "name": "Hiking"
                     *         },
                     *         {
                     *           "id": 56,
                     *           "name": "Train journeys"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        /** Format: int64 */
                        id: number;
                        /** Format: int64 */
                        user_id: number;
                        Interests: components["schemas"]["Interest"][];
                    };
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    setSearchable: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "is_searchable": true
                 *     }
                 */
                "application/json": {
                    /** @description Whether others can find and see the profile */
                    is_searchable: boolean;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "is_searchable": true
                     *     }
                     */
                    "application/json": {
                        is_searchable: boolean;
                    };
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated, or an admin has hidden the profile and it cannot be made searchable */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    searchProfiles: {
        parameters: {
            query?: {
                /**
                 * @description Words, or a sentence; without it everybody who matches the filters
                 * @example jazz
                 */
                q?: string;
                /** @description Names of interests, separated by commas: any of them */
                filterInterests?: string;
                /** @description Names of cities, separated by commas: any of them */
                filterCity?: string;
                /** @description Names of countries, separated by commas: any of them */
                filterCountry?: string;
                /**
                 * @description How many; more than 100 are taken as 100
                 * @example 2
                 */
                limit?: number;
                /** @description How many to skip */
                offset?: number;
                /** @description Adds the parts of each score as _rankingScoreDetails */
                explain?: boolean;
                /** @description Adds _suggestion: the query with mistyped words corrected, or null */
                suggest?: boolean;
                /**
                 * @description Facets to count, separated by commas
                 * @example country
                 */
                facets?: string;
                /**
                 * @description Adds _matches and _snippet to each hit
                 * @example true
                 */
                highlight?: boolean;
                /** @description A profile id: ranks by nearness to that profile, which is not a hit itself; with q, by both */
                like?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "hits": [
                     *         {
                     *           "id": 47,
                     *           "user_id": 47,
                     *           "name": "Inês Carvalho",
                     *           "biography": "I repair azulejos for a living, mostly in stairwells nobody visits, with a dentist's pick and a great deal of patience. By four I am out of the workshop and, if it is a Tuesday or a Saturday, at the Feira da Ladra, arguing about the price of broken tiles. Guests get the view from my landlady's terrace, grilled mackerel, and later a jazz cellar near Praça da Alegria where my brother plays the double bass, not very well.",
                     *           "city": "Lisbon",
                     *           "country": "Portugal",
                     *           "interests": [
                     *             "Ceramics",
                     *             "Coffee",
                     *             "Food markets",
                     *             "Jazz"
                     *           ],
                     *           "image_url": "http://127.0.0.1:54321/storage/v1/object/public/avatars/4d018301-e679-4faa-8f35-77ee599d1065/portrait.webp",
                     *           "_rankingScore": 0.99,
                     *           "_matches": {
                     *             "biography": [
                     *               {
                     *                 "start": 334,
                     *                 "length": 4
                     *               }
                     *             ],
                     *             "interests": [
                     *               {
                     *                 "index": 3,
                     *                 "start": 0,
                     *                 "length": 4
                     *               }
                     *             ],
                     *             "_snippet": [
                     *               {
                     *                 "start": 72,
                     *                 "length": 4
                     *               }
                     *             ]
                     *           },
                     *           "_snippet": "…get the view from my landlady's terrace, grilled mackerel, and later a jazz cellar near Praça da Alegria where my brother plays the double bass, not…"
                     *         },
                     *         {
                     *           "id": 137,
                     *           "user_id": 137,
                     *           "name": "Levon Sahakyan",
                     *           "biography": "Walnut for the back, spruce for the face. An oud takes me three months and I have stopped apologising for it. Yerevan trained me, love moved me to Kalamaria, and I stayed for the light on the gulf. Guests sit in the workshop as long as they like. I do not speak while gluing. Later I speak a lot, and there is apricot brandy.",
                     *           "city": "Thessaloniki",
                     *           "country": "Greece",
                     *           "interests": [
                     *             "Chess",
                     *             "Jazz",
                     *             "Local crafts",
                     *             "Wine"
                     *           ],
                     *           "image_url": "http://127.0.0.1:54321/storage/v1/object/public/avatars/8ce6d14e-202c-4d76-8d92-5def5c326914/portrait.webp",
                     *           "_rankingScore": 0.98,
                     *           "_matches": {
                     *             "interests": [
                     *               {
                     *                 "index": 1,
                     *                 "start": 0,
                     *                 "length": 4
                     *               }
                     *             ]
                     *           },
                     *           "_snippet": "Walnut for the back, spruce for the face. An oud takes me three months and I have stopped apologising for it. Yerevan trained me, love moved me to Kalamaria,…"
                     *         }
                     *       ],
                     *       "query": "jazz",
                     *       "estimatedTotalHits": 48,
                     *       "limit": 2,
                     *       "offset": 0,
                     *       "facetDistribution": {
                     *         "country": {
                     *           "Mexico": 6,
                     *           "Canada": 5,
                     *           "Germany": 5,
                     *           "Portugal": 5,
                     *           "Spain": 5,
                     *           "United Kingdom": 5,
                     *           "Argentina": 4,
                     *           "Greece": 4,
                     *           "Italy": 3,
                     *           "Japan": 3,
                     *           "France": 2,
                     *           "Morocco": 1
                     *         }
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["SearchResult"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description like: no such profile */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    completeSearch: {
        parameters: {
            query?: {
                /**
                 * @description What has been typed so far
                 * @example ja
                 */
                q?: string;
                /**
                 * @description How many of each kind; more than 20 are taken as 20
                 * @example 3
                 */
                limit?: number;
                /** @description Completes cities of the world, as "Lisbon, Portugal", and nothing else */
                places?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "interests": [
                     *         "Jazz"
                     *       ],
                     *       "cities": [],
                     *       "names": [
                     *         "Jacinto Correia",
                     *         "Rana Jabbour",
                     *         "Soon-ja Kang"
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Completions"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    listInterests: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "id": 1,
                     *         "name": "Acting"
                     *       },
                     *       {
                     *         "id": 2,
                     *         "name": "Archaeology"
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Interest"][];
                };
            };
            400: components["responses"]["invalid"];
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    getPublicProfile: {
        parameters: {
            query?: {
                /**
                 * @description Adds answers (how soon this person answers), languages and time_zone
                 * @example true
                 */
                more?: boolean;
            };
            header?: {
                /** @description The ETag of an earlier answer: 304 if it is still the same */
                "if-none-match"?: string;
            };
            path: {
                /**
                 * @description The profile's id
                 * @example 47
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 47,
                     *       "name": "Inês Carvalho",
                     *       "profile": {
                     *         "id": 47,
                     *         "first_name": "Inês",
                     *         "last_name": "Carvalho",
                     *         "age": 34,
                     *         "biography": "I repair azulejos for a living, mostly in stairwells nobody visits, with a dentist's pick and a great deal of patience. By four I am out of the workshop and, if it is a Tuesday or a Saturday, at the Feira da Ladra, arguing about the price of broken tiles. Guests get the view from my landlady's terrace, grilled mackerel, and later a jazz cellar near Praça da Alegria where my brother plays the double bass, not very well.",
                     *         "country": "Portugal",
                     *         "city": "Lisbon",
                     *         "image_url": "http://127.0.0.1:54321/storage/v1/object/public/avatars/4d018301-e679-4faa-8f35-77ee599d1065/portrait.webp",
                     *         "interests": [
                     *           {
                     *             "id": 10,
                     *             "name": "Ceramics"
                     *           },
                     *           {
                     *             "id": 15,
                     *             "name": "Coffee"
                     *           },
                     *           {
                     *             "id": 26,
                     *             "name": "Food markets"
                     *           },
                     *           {
                     *             "id": 32,
                     *             "name": "Jazz"
                     *           }
                     *         ]
                     *       },
                     *       "answers": null,
                     *       "languages": "Portuguese, English",
                     *       "time_zone": "Europe/Lisbon"
                     *     }
                     */
                    "application/json": components["schemas"]["PublicProfile"];
                };
            };
            /** @description Unchanged since the ETag of If-None-Match */
            304: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["invalid"];
            /** @description The profile is not public */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such profile */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    listConversations: {
        parameters: {
            query?: {
                /**
                 * @description How many; by default all, and more than 100 are taken as 100
                 * @example 1
                 */
                limit?: number;
                /** @description How many to skip */
                offset?: number;
                /**
                 * @description Only the archived conversations, or only the others; absent or all: both
                 * @example false
                 */
                archived?: "true" | "false" | "all";
                /** @description Pinned conversations come before the rest */
                pinned?: "first";
                /** @description Adds the other participant, with profile id and photo */
                partner?: boolean;
                /** @description Adds attachment, editedAt and deletedAt to each message */
                states?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "id": 1,
                     *         "voyager_id": 63,
                     *         "local_id": 47,
                     *         "Voyager": {
                     *           "id": 63,
                     *           "name": "Tomáš Novák",
                     *           "email": "tomas.novak@example.com"
                     *         },
                     *         "Local": {
                     *           "id": 47,
                     *           "name": "Inês Carvalho",
                     *           "email": "ines.carvalho@example.com"
                     *         },
                     *         "Messages": [
                     *           {
                     *             "id": 50,
                     *             "content": "Yes please, a chair near the window!",
                     *             "user_id": 63,
                     *             "read": false,
                     *             "createdAt": "2026-04-02T08:53:43.046Z"
                     *           }
                     *         ],
                     *         "createdAt": "2026-04-02T08:53:43.046Z"
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Conversation"][];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    openConversation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "other_user_id": 132
                 *     }
                 */
                "application/json": {
                    /**
                     * Format: int64
                     * @description With whom
                     */
                    other_user_id: number;
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 15,
                     *       "voyager_id": 63,
                     *       "local_id": 132
                     *     }
                     */
                    "application/json": {
                        /** Format: int64 */
                        id: number;
                        /** Format: int64 */
                        voyager_id: number;
                        /** Format: int64 */
                        local_id: number;
                    };
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated, or one of the two has blocked the other */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such user */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            /** @description Error */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: string;
                        /** Format: int64 */
                        conversation_id: number;
                    };
                };
            };
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    countUnread: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "total": 3,
                     *       "conversations": [
                     *         {
                     *           "conversation_id": 6,
                     *           "unread": 2
                     *         },
                     *         {
                     *           "conversation_id": 8,
                     *           "unread": 1
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        /** Format: int64 */
                        total: number;
                        conversations: {
                            /** Format: int64 */
                            conversation_id: number;
                            /** Format: int64 */
                            unread: number;
                        }[];
                    };
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    listConversationStates: {
        parameters: {
            query?: {
                /**
                 * @description How many; by default all, and more than 100 are taken as 100
                 * @example 20
                 */
                limit?: number;
                /** @description Only conversations with a smaller id, for the next page */
                before_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "conversation_id": 1,
                     *         "archived": false,
                     *         "muted_until": null,
                     *         "pinned": true
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["ConversationState"][];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    listChanges: {
        parameters: {
            query?: {
                /** @description The cursor of the last answer; without it the answer is the present cursor and no changes */
                after?: string;
                /**
                 * @description How many; more than 100 are taken as 100
                 * @example 20
                 */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "changes": [],
                     *       "cursor": "KDYzLDVmMGM4YWQwLTQ",
                     *       "more": false
                     *     }
                     */
                    "application/json": components["schemas"]["Changes"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            /** @description The cursor is older than 30 days or from before a restore: read everything anew */
            410: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    searchMessages: {
        parameters: {
            query: {
                /**
                 * @description Words, of which the first ten are looked for; the last one may be unfinished
                 * @example piano
                 */
                q: string;
                /** @description Only in this conversation */
                conversation_id?: number;
                /**
                 * @description How many; more than 100 are taken as 100
                 * @example 2
                 */
                limit?: number;
                /** @description Only messages older than this one */
                before_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "id": 44,
                     *         "user_id": 47,
                     *         "conversation_id": 1,
                     *         "content": "By the way, there is a jazz evening at a friend's place on Thursday night, eight people and a piano. Shall I keep you a chair?",
                     *         "attachment": null,
                     *         "read": true,
                     *         "createdAt": "2026-04-02T08:53:43.046Z",
                     *         "Sender": {
                     *           "id": 47,
                     *           "name": "Inês Carvalho"
                     *         },
                     *         "_snippet": "By the way, there is a jazz evening at a friend's place on Thursday night, eight people and a piano. Shall I keep you a chair?"
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["FoundMessage"][];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such conversation, or the caller is not a participant */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    setConversationState: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation's id
                 * @example 1
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "pinned": true
                 *     }
                 */
                "application/json": {
                    /** @description Out of the inbox until a newer message comes */
                    archived?: boolean;
                    /** @description In the future; null: not muted */
                    muted_until?: string | null;
                    /** @description At most 20 conversations can be pinned */
                    pinned?: boolean;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "conversation_id": 1,
                     *       "archived": false,
                     *       "muted_until": null,
                     *       "pinned": true
                     *     }
                     */
                    "application/json": components["schemas"]["ConversationState"];
                };
            };
            /** @description A value is not allowed; the message names it */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such conversation, or the caller is not a participant */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    getConversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation's id
                 * @example 1
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 1,
                     *       "Voyager": {
                     *         "id": 63,
                     *         "name": "Tomáš Novák"
                     *       },
                     *       "Local": {
                     *         "id": 47,
                     *         "name": "Inês Carvalho"
                     *       },
                     *       "Reservations": [
                     *         {
                     *           "id": 2,
                     *           "title": "Morning in the tile workshop",
                     *           "price": 35,
                     *           "date": "2026-05-14T16:00:00.000Z",
                     *           "status": "accepted"
                     *         },
                     *         {
                     *           "id": 1,
                     *           "title": "Jazz evening at Rui's",
                     *           "price": 12.5,
                     *           "date": "2026-05-14T16:00:00.000Z",
                     *           "status": "pending"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["ConversationDetail"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such conversation, or the caller is not a participant */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    listMessages: {
        parameters: {
            query?: {
                /**
                 * @description How many; more than 100 are taken as 100
                 * @example 2
                 */
                limit?: number;
                /** @description How many to skip */
                offset?: number;
                /** @description By time; by default desc, the newest first */
                order?: "asc" | "desc";
                /** @description Only messages older than this one, newest first */
                before_id?: number;
                /** @description Only messages newer than this one, oldest first; 0: from the first one on */
                after_id?: number;
                /** @description Adds editedAt and deletedAt to each message */
                states?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description The conversation's id
                 * @example 1
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "id": 44,
                     *         "user_id": 47,
                     *         "conversation_id": 1,
                     *         "content": "By the way, there is a jazz evening at a friend's place on Thursday night, eight people and a piano. Shall I keep you a chair?",
                     *         "attachment": null,
                     *         "read": true,
                     *         "createdAt": "2026-04-02T08:53:43.046Z",
                     *         "Sender": {
                     *           "id": 47,
                     *           "name": "Inês Carvalho"
                     *         }
                     *       },
                     *       {
                     *         "id": 28,
                     *         "user_id": 63,
                     *         "conversation_id": 1,
                     *         "content": "Thank you. See you at ten!",
                     *         "attachment": null,
                     *         "read": true,
                     *         "createdAt": "2026-04-02T08:53:43.046Z",
                     *         "Sender": {
                     *           "id": 63,
                     *           "name": "Tomáš Novák"
                     *         }
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Message"][];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such conversation, or the caller is not a participant */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    sendMessage: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A UUID that the client makes: a repeat with it returns the first answer
                 * @example 5b0e9f4c-2d0a-4f57-9b1e-2f6f0a4c7d11
                 */
                "idempotency-key"?: string;
            };
            path: {
                /**
                 * @description The conversation's id
                 * @example 1
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "content": "Yes please, a chair near the piano!"
                 *     }
                 */
                "application/json": {
                    /**
                     * @description Plain text; may be blank only beside an attachment
                     * @default
                     */
                    content?: string;
                    /** @description A file that has been uploaded, or an https URL */
                    attachment?: components["schemas"]["Attachment"] | null;
                    /** @description As the header Idempotency-Key */
                    client_id?: string | null;
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 50,
                     *       "user_id": 63,
                     *       "conversation_id": 1,
                     *       "content": "Yes please, a chair near the piano!",
                     *       "attachment": null,
                     *       "read": false,
                     *       "createdAt": "2026-04-02T08:53:43.046Z",
                     *       "Sender": {
                     *         "id": 63,
                     *         "name": "Tomáš Novák"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Message"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated, or one of the two has blocked the other, or the other account was erased, or the limit of messages before an answer is reached */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such conversation, or the caller is not a participant */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            /** @description The Idempotency-Key was used with another payload */
            422: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    unsendMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation's id
                 * @example 1
                 */
                id: number;
                /**
                 * @description The message's id
                 * @example 50
                 */
                messageId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Taken back, also if it was before */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The message is too old */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such message, or the caller has not sent it */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    editMessage: {
        parameters: {
            query?: {
                /**
                 * @description Adds editedAt and deletedAt to each message
                 * @example true
                 */
                states?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description The conversation's id
                 * @example 1
                 */
                id: number;
                /**
                 * @description The message's id
                 * @example 50
                 */
                messageId: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "content": "Yes please, a chair near the window!"
                 *     }
                 */
                "application/json": {
                    /** @description Plain text; may be blank only beside an attachment, which stays */
                    content: string;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 50,
                     *       "user_id": 63,
                     *       "conversation_id": 1,
                     *       "content": "Yes please, a chair near the window!",
                     *       "attachment": null,
                     *       "read": false,
                     *       "createdAt": "2026-04-02T08:53:43.046Z",
                     *       "Sender": {
                     *         "id": 63,
                     *         "name": "Tomáš Novák"
                     *       },
                     *       "editedAt": "2026-04-02T08:53:43.046Z",
                     *       "deletedAt": null
                     *     }
                     */
                    "application/json": components["schemas"]["Message"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated, or one of the two has blocked the other, or the other account was erased, or the message is too old, or was corrected before an answer */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such message, or the caller has not sent it */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            /** @description The message was taken back */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    markMessageRead: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation's id
                 * @example 1
                 */
                id: number;
                /**
                 * @description The message's id
                 * @example 44
                 */
                messageId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "success": true
                     *     }
                     */
                    "application/json": {
                        success: boolean;
                    };
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such message, or the caller is not a participant */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    markConversationRead: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation's id
                 * @example 6
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "up_to_message_id": 40
                 *     }
                 */
                "application/json": {
                    /**
                     * Format: int64
                     * @description This message and all before it
                     */
                    up_to_message_id: number;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "success": true
                     *     }
                     */
                    "application/json": {
                        success: boolean;
                    };
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such message, or the caller is not a participant */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    offerReservation: {
        parameters: {
            query?: never;
            header?: {
                /** @description A UUID that the client makes: a repeat with it returns the first answer */
                "idempotency-key"?: string;
            };
            path: {
                /**
                 * @description The conversation's id
                 * @example 1
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "title": "Two nights in Graça",
                 *       "price": 80,
                 *       "date": "2042-05-14T16:00:00.000Z",
                 *       "ends_at": "2042-05-16T10:00:00.000Z"
                 *     }
                 */
                "application/json": {
                    /** @description What is offered */
                    title: string;
                    /**
                     * Format: double
                     * @description 0 to 100,000, with two decimals at most
                     */
                    price: number;
                    /**
                     * Format: date-time
                     * @description In the future
                     */
                    date: string;
                    /** @description After date, by 366 days at most; without it others may overlap */
                    ends_at?: string | null;
                    /** @description One of the two participants; by default the local */
                    host_id?: number | null;
                    /** @description As the header Idempotency-Key */
                    client_id?: string | null;
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 14,
                     *       "conversation_id": 1,
                     *       "title": "Two nights in Graça",
                     *       "price": 80,
                     *       "date": "2042-05-14T16:00:00.000Z",
                     *       "ends_at": "2042-05-16T10:00:00.000Z",
                     *       "status": "pending",
                     *       "host_id": 47,
                     *       "offered_by": 63,
                     *       "revision": 1,
                     *       "createdAt": "2026-04-02T08:53:43.046Z",
                     *       "updatedAt": "2026-04-02T08:53:43.046Z"
                     *     }
                     */
                    "application/json": components["schemas"]["ReservationDetail"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated, or one of the two has blocked the other, or the other account was deactivated or erased, or has not answered the first messages and offers */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such conversation, or the caller is not a participant */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            /** @description The Idempotency-Key was used with another payload */
            422: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    getReservationFile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation's id
                 * @example 1
                 */
                id: number;
                /**
                 * @description The reservation's id
                 * @example 2
                 */
                rid: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example BEGIN:VCALENDAR
                     *     VERSION:2.0
                     *     PRODID:-//Voyagers and locals//EN
                     *     BEGIN:VEVENT
                     *     UID:reservation-2@127.0.0.1:54321
                     *     SEQUENCE:2
                     *     DTSTAMP:20260514T160000Z
                     *     DTSTART:20260514T160000Z
                     *     DTEND:20260514T190000Z
                     *     SUMMARY:Morning in the tile workshop
                     *     STATUS:CONFIRMED
                     *     END:VEVENT
                     *     END:VCALENDAR
                     */
                    "text/calendar": string;
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such reservation, or the caller is not a participant */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            /** @description It is not agreed */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    getReservation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation's id
                 * @example 1
                 */
                id: number;
                /**
                 * @description The reservation's id
                 * @example 14
                 */
                rid: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 14,
                     *       "conversation_id": 1,
                     *       "title": "Two nights in Graça",
                     *       "price": 80,
                     *       "date": "2042-05-14T16:00:00.000Z",
                     *       "ends_at": "2042-05-16T10:00:00.000Z",
                     *       "status": "pending",
                     *       "host_id": 47,
                     *       "offered_by": 63,
                     *       "revision": 1,
                     *       "createdAt": "2026-04-02T08:53:43.046Z",
                     *       "updatedAt": "2026-04-02T08:53:43.046Z",
                     *       "history": [
                     *         {
                     *           "status": "pending",
                     *           "by": 63,
                     *           "note": null,
                     *           "title": "Two nights in Graça",
                     *           "price": 80,
                     *           "date": "2042-05-14T16:00:00.000Z",
                     *           "ends_at": "2042-05-16T10:00:00.000Z",
                     *           "createdAt": "2026-04-02T08:53:43.046Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["ReservationWithHistory"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such reservation, or the caller is not a participant */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    counterReservation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation's id
                 * @example 1
                 */
                id: number;
                /**
                 * @description The reservation's id
                 * @example 14
                 */
                rid: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "revision": 1,
                 *       "price": 70
                 *     }
                 */
                "application/json": {
                    /**
                     * Format: int32
                     * @description Of the offer that was read
                     */
                    revision: number;
                    /** @description What is offered */
                    title?: string;
                    /**
                     * Format: double
                     * @description 0 to 100,000, with two decimals at most
                     */
                    price?: number;
                    /**
                     * Format: date-time
                     * @description In the future
                     */
                    date?: string;
                    /** @description After date, by 366 days at most; without it others may overlap */
                    ends_at?: string | null;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 14,
                     *       "conversation_id": 1,
                     *       "title": "Two nights in Graça",
                     *       "price": 70,
                     *       "date": "2042-05-14T16:00:00.000Z",
                     *       "ends_at": "2042-05-16T10:00:00.000Z",
                     *       "status": "pending",
                     *       "host_id": 47,
                     *       "offered_by": 47,
                     *       "revision": 2,
                     *       "createdAt": "2026-04-02T08:53:43.046Z",
                     *       "updatedAt": "2026-04-02T08:53:43.046Z"
                     *     }
                     */
                    "application/json": components["schemas"]["ReservationDetail"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated, or one of the two has blocked the other, or the other account was deactivated or erased, or has not answered the first messages and offers */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such reservation, or the caller is not a participant */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            /** @description Error */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReservationConflict"];
                };
            };
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    acceptReservation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation's id
                 * @example 1
                 */
                id: number;
                /**
                 * @description The reservation's id
                 * @example 14
                 */
                rid: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "revision": 2,
                 *       "note": "See you at the station"
                 *     }
                 */
                "application/json": {
                    /**
                     * Format: int32
                     * @description Of the offer that was read
                     */
                    revision: number;
                    /** @description For the history */
                    note?: string | null;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 14,
                     *       "conversation_id": 1,
                     *       "title": "Two nights in Graça",
                     *       "price": 70,
                     *       "date": "2042-05-14T16:00:00.000Z",
                     *       "ends_at": "2042-05-16T10:00:00.000Z",
                     *       "status": "accepted",
                     *       "host_id": 47,
                     *       "offered_by": 47,
                     *       "revision": 2,
                     *       "createdAt": "2026-04-02T08:53:43.046Z",
                     *       "updatedAt": "2026-04-02T08:53:43.046Z"
                     *     }
                     */
                    "application/json": components["schemas"]["ReservationDetail"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated, or one of the two has blocked the other, or the other account was deactivated or erased, or has not answered the first messages and offers */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such reservation, or the caller is not a participant */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            /** @description Error */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReservationConflict"];
                };
            };
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    declineReservation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation's id
                 * @example 1
                 */
                id: number;
                /**
                 * @description The reservation's id
                 * @example 1
                 */
                rid: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "revision": 1,
                 *       "note": "The piano is being tuned that week"
                 *     }
                 */
                "application/json": {
                    /**
                     * Format: int32
                     * @description Of the offer that was read
                     */
                    revision: number;
                    /** @description For the history */
                    note?: string | null;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 1,
                     *       "conversation_id": 1,
                     *       "title": "Jazz evening at Rui's",
                     *       "price": 12.5,
                     *       "date": "2026-05-14T16:00:00.000Z",
                     *       "ends_at": null,
                     *       "status": "declined",
                     *       "host_id": 47,
                     *       "offered_by": 63,
                     *       "revision": 1,
                     *       "createdAt": "2026-04-02T08:53:43.046Z",
                     *       "updatedAt": "2026-04-02T08:53:43.046Z"
                     *     }
                     */
                    "application/json": components["schemas"]["ReservationDetail"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated, or one of the two has blocked the other, or the other account was deactivated or erased, or has not answered the first messages and offers */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such reservation, or the caller is not a participant */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            /** @description Error */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReservationConflict"];
                };
            };
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    cancelReservation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation's id
                 * @example 1
                 */
                id: number;
                /**
                 * @description The reservation's id
                 * @example 14
                 */
                rid: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "note": "My train was cancelled, I am sorry"
                 *     }
                 */
                "application/json": {
                    /** @description For the history */
                    note?: string | null;
                    /**
                     * Format: int32
                     * @description Of the offer that was read
                     */
                    revision?: number;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 14,
                     *       "conversation_id": 1,
                     *       "title": "Two nights in Graça",
                     *       "price": 70,
                     *       "date": "2042-05-14T16:00:00.000Z",
                     *       "ends_at": "2042-05-16T10:00:00.000Z",
                     *       "status": "cancelled",
                     *       "host_id": 47,
                     *       "offered_by": 47,
                     *       "revision": 2,
                     *       "createdAt": "2026-04-02T08:53:43.046Z",
                     *       "updatedAt": "2026-04-02T08:53:43.046Z"
                     *     }
                     */
                    "application/json": components["schemas"]["ReservationDetail"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated, or has reached the limit of first contact with its note */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such reservation, or the caller is not a participant */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            /** @description Error */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReservationConflict"];
                };
            };
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    completeReservation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation's id
                 * @example 5
                 */
                id: number;
                /**
                 * @description The reservation's id
                 * @example 7
                 */
                rid: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description For the history */
                    note?: string | null;
                    /**
                     * Format: int32
                     * @description Of the offer that was read
                     */
                    revision?: number;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 7,
                     *       "conversation_id": 5,
                     *       "title": "Afternoon walk along the Leith shore",
                     *       "price": 0,
                     *       "date": "2026-05-14T16:00:00.000Z",
                     *       "ends_at": null,
                     *       "status": "completed",
                     *       "host_id": 154,
                     *       "offered_by": 154,
                     *       "revision": 1,
                     *       "createdAt": "2026-04-02T08:53:43.046Z",
                     *       "updatedAt": "2026-04-02T08:53:43.046Z"
                     *     }
                     */
                    "application/json": components["schemas"]["ReservationDetail"];
                };
            };
            400: components["responses"]["invalid"];
            /** @description No token, or one that is not valid */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The account is deactivated, or one of the two has blocked the other, or the other account was deactivated or erased, or has not answered the first messages and offers */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No such reservation, or the caller is not a participant */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            /** @description Error */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReservationConflict"];
                };
            };
            413: components["responses"]["too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "database": "ok",
                     *       "embeddings": {
                     *         "provider": "offline",
                     *         "model": "offline-wordnet-v3",
                     *         "pending": 0
                     *       }
                     *     }
                     */
                    "application/json": {
                        /** @enum {string} */
                        status: "ok" | "unavailable";
                        /** @enum {string} */
                        database: "ok" | "unavailable";
                        embeddings: {
                            provider: string;
                            model: string;
                            pending: number | null;
                        };
                    };
                };
            };
            400: components["responses"]["invalid"];
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            /** @description Error */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ok" | "unavailable";
                        /** @enum {string} */
                        database: "ok" | "unavailable";
                        embeddings: {
                            provider: string;
                            model: string;
                            pending: number | null;
                        };
                    };
                };
            };
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example # HELP database_up Whether the database is reachable.
                     *     # TYPE database_up gauge
                     *     database_up 1
                     */
                    "text/plain": string;
                };
            };
            400: components["responses"]["invalid"];
            /** @description Not the secret key */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    embedQueue: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "made": 0
                     *     }
                     */
                    "application/json": {
                        /** Format: int64 */
                        made: number;
                    };
                };
            };
            400: components["responses"]["invalid"];
            /** @description Not the secret key */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
    sendNotifications: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "planned": 3,
                     *       "pushes": 2,
                     *       "mails": 1,
                     *       "webhooks": 0
                     *     }
                     */
                    "application/json": {
                        /** Format: int64 */
                        planned: number;
                        /** Format: int64 */
                        pushes: number;
                        /** Format: int64 */
                        mails: number;
                        /** Format: int64 */
                        webhooks: number;
                    };
                };
            };
            400: components["responses"]["invalid"];
            /** @description Not the secret key */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description What is wrong, for programs */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            405: components["responses"]["method_not_allowed"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["unavailable"];
        };
    };
}
