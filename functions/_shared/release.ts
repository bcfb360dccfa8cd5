/** Replaced by scripts/build_functions.ts. */
declare const RELEASE: string

/** Version and commit of the bundle; 'development' where the sources run as they are. */
export const release: string = typeof RELEASE === 'undefined' ? 'development' : RELEASE
