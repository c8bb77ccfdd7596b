/** What a Hugging Face server says about a large file before it redirects to its storage. */
export interface LinkedFile {
  readonly sha256: string | undefined
  readonly bytes: number | undefined
}

/**
 * Asks for the checksum and the size of a file. Both stay undefined if the server does not tell them or does not
 * answer.
 */
export async function askForLinkedFile(url: string, signal: AbortSignal): Promise<LinkedFile> {
  try {
    const response = await fetch(url, {
      method: 'HEAD',
      redirect: 'manual',
      headers: { 'accept-encoding': 'identity' },
      signal,
    })
    return readLinkedFile(response.headers)
  } catch {
    // The download itself will report what is wrong.
    return { sha256: undefined, bytes: undefined }
  }
}

export function readLinkedFile(headers: Headers): LinkedFile {
  const sha256 = /^(?:W\/)?"?([0-9a-f]{64})"?$/.exec(headers.get('x-linked-etag') ?? '')?.[1]
  const size = headers.get('x-linked-size')
  return { sha256, bytes: size !== null && /^\d+$/.test(size) ? Number(size) : undefined }
}
