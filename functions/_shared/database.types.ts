export type Json =
  | string
  | number
  | boolean
  | null
  | { [key: string]: Json | undefined }
  | Json[]

export type Database = {
  public: {
    Tables: {
      conversations: {
        Row: {
          created_at: string
          id: number
          local_id: number
          voyager_id: number
        }
        Insert: {
          created_at?: string
          id?: never
          local_id: number
          voyager_id: number
        }
        Update: {
          created_at?: string
          id?: never
          local_id?: number
          voyager_id?: number
        }
        Relationships: [
          {
            foreignKeyName: 'conversations_local_id_fkey'
            columns: ['local_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['person_id']
          },
          {
            foreignKeyName: 'conversations_local_id_fkey'
            columns: ['local_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['reporter_id']
          },
          {
            foreignKeyName: 'conversations_local_id_fkey'
            columns: ['local_id']
            referencedRelation: 'users'
            referencedColumns: ['id']
          },
          {
            foreignKeyName: 'conversations_voyager_id_fkey'
            columns: ['voyager_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['person_id']
          },
          {
            foreignKeyName: 'conversations_voyager_id_fkey'
            columns: ['voyager_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['reporter_id']
          },
          {
            foreignKeyName: 'conversations_voyager_id_fkey'
            columns: ['voyager_id']
            referencedRelation: 'users'
            referencedColumns: ['id']
          },
        ]
      }
      interests: {
        Row: {
          id: number
          name: string
        }
        Insert: {
          id?: never
          name: string
        }
        Update: {
          id?: never
          name?: string
        }
        Relationships: []
      }
      messages: {
        Row: {
          attachment: Json | null
          client_id: string | null
          content: string
          conversation_id: number
          created_at: string
          deleted_at: string | null
          edited_at: string | null
          id: number
          read: boolean
          user_id: number
        }
        Insert: {
          attachment?: Json | null
          client_id?: string | null
          content: string
          conversation_id: number
          created_at?: string
          deleted_at?: string | null
          edited_at?: string | null
          id?: never
          read?: boolean
          user_id: number
        }
        Update: {
          attachment?: Json | null
          client_id?: string | null
          content?: string
          conversation_id?: number
          created_at?: string
          deleted_at?: string | null
          edited_at?: string | null
          id?: never
          read?: boolean
          user_id?: number
        }
        Relationships: [
          {
            foreignKeyName: 'messages_conversation_id_fkey'
            columns: ['conversation_id']
            referencedRelation: 'conversations'
            referencedColumns: ['id']
          },
          {
            foreignKeyName: 'messages_user_id_fkey'
            columns: ['user_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['person_id']
          },
          {
            foreignKeyName: 'messages_user_id_fkey'
            columns: ['user_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['reporter_id']
          },
          {
            foreignKeyName: 'messages_user_id_fkey'
            columns: ['user_id']
            referencedRelation: 'users'
            referencedColumns: ['id']
          },
        ]
      }
      moderation_log: {
        Row: {
          action: string
          by_whom: string
          created_at: string
          id: number
          note: string | null
          report_id: number | null
          user_id: number
        }
        Insert: {
          action: string
          by_whom: string
          created_at?: string
          id?: never
          note?: string | null
          report_id?: number | null
          user_id: number
        }
        Update: {
          action?: string
          by_whom?: string
          created_at?: string
          id?: never
          note?: string | null
          report_id?: number | null
          user_id?: number
        }
        Relationships: [
          {
            foreignKeyName: 'moderation_log_report_id_fkey'
            columns: ['report_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['report']
          },
          {
            foreignKeyName: 'moderation_log_report_id_fkey'
            columns: ['report_id']
            referencedRelation: 'reports'
            referencedColumns: ['id']
          },
          {
            foreignKeyName: 'moderation_log_user_id_fkey'
            columns: ['user_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['person_id']
          },
          {
            foreignKeyName: 'moderation_log_user_id_fkey'
            columns: ['user_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['reporter_id']
          },
          {
            foreignKeyName: 'moderation_log_user_id_fkey'
            columns: ['user_id']
            referencedRelation: 'users'
            referencedColumns: ['id']
          },
        ]
      }
      profile_interests: {
        Row: {
          interest_id: number
          profile_id: number
        }
        Insert: {
          interest_id: number
          profile_id: number
        }
        Update: {
          interest_id?: number
          profile_id?: number
        }
        Relationships: [
          {
            foreignKeyName: 'profile_interests_interest_id_fkey'
            columns: ['interest_id']
            referencedRelation: 'interests'
            referencedColumns: ['id']
          },
          {
            foreignKeyName: 'profile_interests_profile_id_fkey'
            columns: ['profile_id']
            referencedRelation: 'profiles'
            referencedColumns: ['id']
          },
        ]
      }
      profiles: {
        Row: {
          age: number | null
          biography: string | null
          city: string | null
          country: string | null
          first_name: string | null
          id: number
          image_url: string | null
          is_hidden: boolean
          is_searchable: boolean
          languages: string | null
          last_name: string | null
          show_answers: boolean
          user_id: number
        }
        Insert: {
          age?: number | null
          biography?: string | null
          city?: string | null
          country?: string | null
          first_name?: string | null
          id?: never
          image_url?: string | null
          is_hidden?: boolean
          is_searchable?: boolean
          languages?: string | null
          last_name?: string | null
          show_answers?: boolean
          user_id: number
        }
        Update: {
          age?: number | null
          biography?: string | null
          city?: string | null
          country?: string | null
          first_name?: string | null
          id?: never
          image_url?: string | null
          is_hidden?: boolean
          is_searchable?: boolean
          languages?: string | null
          last_name?: string | null
          show_answers?: boolean
          user_id?: number
        }
        Relationships: [
          {
            foreignKeyName: 'profiles_user_id_fkey'
            columns: ['user_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['person_id']
          },
          {
            foreignKeyName: 'profiles_user_id_fkey'
            columns: ['user_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['reporter_id']
          },
          {
            foreignKeyName: 'profiles_user_id_fkey'
            columns: ['user_id']
            referencedRelation: 'users'
            referencedColumns: ['id']
          },
        ]
      }
      reports: {
        Row: {
          created_at: string
          id: number
          is_told: boolean
          message_id: number | null
          note: string | null
          purge_at: string | null
          reason: string
          reporter_id: number
          resolution: string | null
          resolved_at: string | null
          shares_messages: boolean
          user_id: number
        }
        Insert: {
          created_at?: string
          id?: never
          is_told?: boolean
          message_id?: number | null
          note?: string | null
          purge_at?: string | null
          reason: string
          reporter_id: number
          resolution?: string | null
          resolved_at?: string | null
          shares_messages?: boolean
          user_id: number
        }
        Update: {
          created_at?: string
          id?: never
          is_told?: boolean
          message_id?: number | null
          note?: string | null
          purge_at?: string | null
          reason?: string
          reporter_id?: number
          resolution?: string | null
          resolved_at?: string | null
          shares_messages?: boolean
          user_id?: number
        }
        Relationships: [
          {
            foreignKeyName: 'reports_reporter_id_fkey'
            columns: ['reporter_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['person_id']
          },
          {
            foreignKeyName: 'reports_reporter_id_fkey'
            columns: ['reporter_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['reporter_id']
          },
          {
            foreignKeyName: 'reports_reporter_id_fkey'
            columns: ['reporter_id']
            referencedRelation: 'users'
            referencedColumns: ['id']
          },
          {
            foreignKeyName: 'reports_user_id_fkey'
            columns: ['user_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['person_id']
          },
          {
            foreignKeyName: 'reports_user_id_fkey'
            columns: ['user_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['reporter_id']
          },
          {
            foreignKeyName: 'reports_user_id_fkey'
            columns: ['user_id']
            referencedRelation: 'users'
            referencedColumns: ['id']
          },
        ]
      }
      reservation_history: {
        Row: {
          by_id: number | null
          conversation_id: number
          created_at: string
          date: string
          ends_at: string | null
          id: number
          note: string | null
          price: number
          reservation_id: number
          status: string
          title: string
        }
        Insert: {
          by_id?: number | null
          conversation_id: number
          created_at: string
          date: string
          ends_at?: string | null
          id?: never
          note?: string | null
          price: number
          reservation_id: number
          status: string
          title: string
        }
        Update: {
          by_id?: number | null
          conversation_id?: number
          created_at?: string
          date?: string
          ends_at?: string | null
          id?: never
          note?: string | null
          price?: number
          reservation_id?: number
          status?: string
          title?: string
        }
        Relationships: [
          {
            foreignKeyName: 'reservation_history_by_id_fkey'
            columns: ['by_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['person_id']
          },
          {
            foreignKeyName: 'reservation_history_by_id_fkey'
            columns: ['by_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['reporter_id']
          },
          {
            foreignKeyName: 'reservation_history_by_id_fkey'
            columns: ['by_id']
            referencedRelation: 'users'
            referencedColumns: ['id']
          },
          {
            foreignKeyName: 'reservation_history_conversation_id_fkey'
            columns: ['conversation_id']
            referencedRelation: 'conversations'
            referencedColumns: ['id']
          },
          {
            foreignKeyName: 'reservation_history_reservation_id_fkey'
            columns: ['reservation_id']
            referencedRelation: 'reservations'
            referencedColumns: ['id']
          },
        ]
      }
      reservations: {
        Row: {
          conversation_id: number
          created_at: string
          date: string
          due_at: string | null
          ends_at: string | null
          host_id: number
          id: number
          offered_by: number | null
          price: number
          revision: number
          status: string
          title: string
          updated_at: string
        }
        Insert: {
          conversation_id: number
          created_at?: string
          date: string
          due_at?: never
          ends_at?: string | null
          host_id: number
          id?: never
          offered_by?: number | null
          price: number
          revision?: number
          status?: string
          title: string
          updated_at?: string
        }
        Update: {
          conversation_id?: number
          created_at?: string
          date?: string
          due_at?: never
          ends_at?: string | null
          host_id?: number
          id?: never
          offered_by?: number | null
          price?: number
          revision?: number
          status?: string
          title?: string
          updated_at?: string
        }
        Relationships: [
          {
            foreignKeyName: 'reservations_conversation_id_fkey'
            columns: ['conversation_id']
            referencedRelation: 'conversations'
            referencedColumns: ['id']
          },
          {
            foreignKeyName: 'reservations_host_id_fkey'
            columns: ['host_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['person_id']
          },
          {
            foreignKeyName: 'reservations_host_id_fkey'
            columns: ['host_id']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['reporter_id']
          },
          {
            foreignKeyName: 'reservations_host_id_fkey'
            columns: ['host_id']
            referencedRelation: 'users'
            referencedColumns: ['id']
          },
          {
            foreignKeyName: 'reservations_offered_by_fkey'
            columns: ['offered_by']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['person_id']
          },
          {
            foreignKeyName: 'reservations_offered_by_fkey'
            columns: ['offered_by']
            referencedRelation: 'moderation_queue'
            referencedColumns: ['reporter_id']
          },
          {
            foreignKeyName: 'reservations_offered_by_fkey'
            columns: ['offered_by']
            referencedRelation: 'users'
            referencedColumns: ['id']
          },
        ]
      }
      users: {
        Row: {
          auth_id: string | null
          bio: string | null
          confirmed_at: string | null
          created_at: string
          email: string
          erased_at: string | null
          id: number
          is_active: boolean
          location: string | null
          name: string
          role: string
          unsubscribe_token: string
        }
        Insert: {
          auth_id?: string | null
          bio?: string | null
          confirmed_at?: string | null
          created_at?: string
          email: string
          erased_at?: string | null
          id?: never
          is_active?: boolean
          location?: string | null
          name: string
          role?: string
          unsubscribe_token?: string
        }
        Update: {
          auth_id?: string | null
          bio?: string | null
          confirmed_at?: string | null
          created_at?: string
          email?: string
          erased_at?: string | null
          id?: never
          is_active?: boolean
          location?: string | null
          name?: string
          role?: string
          unsubscribe_token?: string
        }
        Relationships: []
      }
    }
    Views: {
      moderation_queue: {
        Row: {
          created_at: string | null
          earlier_dismissed: number | null
          earlier_reports: number | null
          earlier_upheld: number | null
          is_active: boolean | null
          is_hidden: boolean | null
          message_id: number | null
          note: string | null
          person: string | null
          person_id: number | null
          reason: string | null
          report: number | null
          reporter: string | null
          reporter_id: number | null
          shares_messages: boolean | null
        }
        Relationships: []
      }
    }
    Functions: {
      describe_queues: {
        Args: Record<PropertyKey, never>
        Returns: {
          dead: number
          oldest_seconds: number
          queue: string
          waiting: number
        }[]
      }
      describe_schedule: {
        Args: Record<PropertyKey, never>
        Returns: {
          failures: number
          job: string
          last_message: string
          last_start: string
          last_status: string
          schedule: string
        }[]
      }
      erase_person: { Args: { note: string; person: number }; Returns: string }
      find_people: {
        Args: { query: string; restricted?: boolean }
        Returns: {
          bio: string
          created_at: string
          email: string
          id: number
          is_hidden: boolean
          is_searchable: boolean
          location: string
          name: string
          reports: number
          role: string
          status: string
          upheld: number
        }[]
      }
      lift_restriction: {
        Args: { note: string; person: number; restriction: string }
        Returns: string
      }
      read_evidence: {
        Args: { report: number }
        Returns: {
          attachment: Json
          content: string
          is_by_reported: boolean
          message_id: number
          sender_id: number
          sent_at: string
        }[]
      }
      resolve_report: {
        Args: { action: string; note: string; report: number }
        Returns: {
          created_at: string
          id: number
          is_told: boolean
          message_id: number | null
          note: string | null
          purge_at: string | null
          reason: string
          reporter_id: number
          resolution: string | null
          resolved_at: string | null
          shares_messages: boolean
          user_id: number
        }
        SetofOptions: {
          from: '*'
          to: 'reports'
          isOneToOne: true
          isSetofReturn: false
        }
      }
      restrict_person: {
        Args: { note: string; person: number; restriction: string }
        Returns: string
      }
    }
    Enums: {
      [_ in never]: never
    }
    CompositeTypes: {
      [_ in never]: never
    }
  }
}

type DatabaseWithoutInternals = Omit<Database, '__InternalSupabase'>

type DefaultSchema = DatabaseWithoutInternals[Extract<keyof Database, 'public'>]

export type Tables<
  DefaultSchemaTableNameOrOptions extends
    | keyof (DefaultSchema['Tables'] & DefaultSchema['Views'])
    | { schema: keyof DatabaseWithoutInternals },
  TableName extends (DefaultSchemaTableNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  } ? keyof (
      & DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions['schema']]['Tables']
      & DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions['schema']]['Views']
    )
    : never) = never,
> = DefaultSchemaTableNameOrOptions extends {
  schema: keyof DatabaseWithoutInternals
} ? (
    & DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions['schema']]['Tables']
    & DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions['schema']]['Views']
  )[TableName] extends {
    Row: infer R
  } ? R
  : never
  : DefaultSchemaTableNameOrOptions extends keyof (
    & DefaultSchema['Tables']
    & DefaultSchema['Views']
  ) ? (
      & DefaultSchema['Tables']
      & DefaultSchema['Views']
    )[DefaultSchemaTableNameOrOptions] extends {
      Row: infer R
    } ? R
    : never
  : never

export type TablesInsert<
  DefaultSchemaTableNameOrOptions extends
    | keyof DefaultSchema['Tables']
    | { schema: keyof DatabaseWithoutInternals },
  TableName extends (DefaultSchemaTableNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  } ? keyof DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions['schema']]['Tables']
    : never) = never,
> = DefaultSchemaTableNameOrOptions extends {
  schema: keyof DatabaseWithoutInternals
} ? DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions['schema']]['Tables'][TableName] extends {
    Insert: infer I
  } ? I
  : never
  : DefaultSchemaTableNameOrOptions extends keyof DefaultSchema['Tables']
    ? DefaultSchema['Tables'][DefaultSchemaTableNameOrOptions] extends {
      Insert: infer I
    } ? I
    : never
  : never

export type TablesUpdate<
  DefaultSchemaTableNameOrOptions extends
    | keyof DefaultSchema['Tables']
    | { schema: keyof DatabaseWithoutInternals },
  TableName extends (DefaultSchemaTableNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  } ? keyof DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions['schema']]['Tables']
    : never) = never,
> = DefaultSchemaTableNameOrOptions extends {
  schema: keyof DatabaseWithoutInternals
} ? DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions['schema']]['Tables'][TableName] extends {
    Update: infer U
  } ? U
  : never
  : DefaultSchemaTableNameOrOptions extends keyof DefaultSchema['Tables']
    ? DefaultSchema['Tables'][DefaultSchemaTableNameOrOptions] extends {
      Update: infer U
    } ? U
    : never
  : never

export type Enums<
  DefaultSchemaEnumNameOrOptions extends
    | keyof DefaultSchema['Enums']
    | { schema: keyof DatabaseWithoutInternals },
  EnumName extends (DefaultSchemaEnumNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  } ? keyof DatabaseWithoutInternals[DefaultSchemaEnumNameOrOptions['schema']]['Enums']
    : never) = never,
> = DefaultSchemaEnumNameOrOptions extends {
  schema: keyof DatabaseWithoutInternals
} ? DatabaseWithoutInternals[DefaultSchemaEnumNameOrOptions['schema']]['Enums'][EnumName]
  : DefaultSchemaEnumNameOrOptions extends keyof DefaultSchema['Enums']
    ? DefaultSchema['Enums'][DefaultSchemaEnumNameOrOptions]
  : never

export type CompositeTypes<
  PublicCompositeTypeNameOrOptions extends
    | keyof DefaultSchema['CompositeTypes']
    | { schema: keyof DatabaseWithoutInternals },
  CompositeTypeName extends (PublicCompositeTypeNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  } ? keyof DatabaseWithoutInternals[PublicCompositeTypeNameOrOptions['schema']]['CompositeTypes']
    : never) = never,
> = PublicCompositeTypeNameOrOptions extends {
  schema: keyof DatabaseWithoutInternals
} ? DatabaseWithoutInternals[PublicCompositeTypeNameOrOptions['schema']]['CompositeTypes'][CompositeTypeName]
  : PublicCompositeTypeNameOrOptions extends keyof DefaultSchema['CompositeTypes']
    ? DefaultSchema['CompositeTypes'][PublicCompositeTypeNameOrOptions]
  : never

export const Constants = {
  public: {
    Enums: {},
  },
} as const
