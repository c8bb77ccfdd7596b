import { z } from 'zod'
import { openApiDocument } from '../../src/management/openapi/openapi-document.ts'
import { cell, fieldTable, schemaForm } from './field-rows.ts'

const responseForm = z.looseObject({
  description: z.string(),
  content: z.record(z.string(), z.looseObject({ schema: schemaForm })),
})
const operationForm = z.looseObject({
  summary: z.string(),
  security: z.array(z.unknown()),
  parameters: z.array(z.looseObject({ name: z.string(), in: z.string(), description: z.string() })).optional(),
  responses: z.record(z.string(), responseForm),
})
const documentForm = z.looseObject({ paths: z.record(z.string(), z.looseObject({ get: operationForm })) })

export function managementSections(): string {
  const { paths } = documentForm.parse(openApiDocument())
  return Object.entries(paths)
    .map(([path, { get }]) => operationSection(path, get).join('\n'))
    .join('\n\n')
}

function operationSection(path: string, operation: z.infer<typeof operationForm>): string[] {
  const { 200: answer, ...refusals } = operation.responses
  const fields = answer?.content['application/json']?.schema
  const asked = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
  const key = operation.security.length === 0 ? 'It needs no key pair.' : 'It needs a key pair.'
  return [
    `### GET ${path}`,
    '',
    `${operation.summary} ${key}`,
    '',
    ...asked.map(({ name, description }) => `- \`${name}\`: ${cell(description)}`),
    ...(asked.length > 0 ? [''] : []),
    ...(fields?.properties ? [...fieldTable(fields, '', 'answered'), ''] : []),
    `Refused with ${Object.entries(refusals)
      .map(([status, { description }]) => `${status} (${refusalWords(description)})`)
      .join(', ')}.`,
  ]
}

/** Codes of errors, or a sentence where there is none. */
function refusalWords(description: string): string {
  return /^[a-z_, ]+$/.test(description)
    ? description.replaceAll(/[a-z_]+/g, '`$&`')
    : description.replace(/\.$/, '').toLowerCase()
}
