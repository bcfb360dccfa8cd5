export interface Interest {
  id: number
  name: string
}

/** The user's own account and profile, as GET users/me answers. */
export interface Me {
  id: number
  name: string
  email: string
  bio: string | null
  role: 'user' | 'admin'
  is_active: boolean
  Profile: {
    id: number
    biography: string | null
    city: string | null
    country: string | null
    image_url: string | null
    is_searchable: boolean
    Interests: Interest[]
  }
}
