export function pythonClients(): string | undefined
export function installPythonClients(): Promise<string | undefined>
