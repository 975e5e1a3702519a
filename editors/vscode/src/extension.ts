// Starts `hybridize server`, and again when the interpreter or the setting changes. All else is the server's.
import { existsSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { LanguageClient, RevealOutputChannelOn, type LanguageClientOptions } from "vscode-languageclient/node";

const NAME = process.platform === "win32" ? "hybridize.exe" : "hybridize";

let client: LanguageClient | undefined;
let starting: Promise<void> = Promise.resolve();

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const again = (): Promise<void> => (starting = starting.then(restart, restart));
  context.subscriptions.push(
    vscode.commands.registerCommand("hybridize.restart", again),
    vscode.commands.registerCommand("hybridize.convertAll", convertAll),
    vscode.workspace.onDidGrantWorkspaceTrust(again),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("hybridize.path")) void again();
    }),
  );
  const python = await pythonEnvironments();
  const changed = python?.onDidChangeActiveEnvironmentPath?.(() => void again());
  if (changed) context.subscriptions.push(changed);
  await again();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

async function restart(): Promise<void> {
  await client?.stop();
  client = undefined;
  const command = await findCommand();
  const options: LanguageClientOptions = {
    documentSelector: [
      { language: "python", scheme: "file" },
      { language: "python", notebook: { scheme: "file", notebookType: "jupyter-notebook" } },
    ],
    synchronize: { configurationSection: "hybridize" },
    revealOutputChannelOn: RevealOutputChannelOn.Never,
  };
  const server = { command, args: ["server"] };
  const next = new LanguageClient("hybridize", "hybridize", { run: server, debug: server }, options);
  try {
    await next.start();
    client = next;
  } catch (error) {
    const wanted = "Output";
    const text = `hybridize: \`${command} server\` does not start: is "hybridize[lsp]" installed there? (${String(error)})`;
    void vscode.window.showErrorMessage(text, wanted).then((answer) => answer === wanted && next.outputChannel.show());
  }
}

/** The command of the setting, of the chosen interpreter's environment, or on PATH. */
async function findCommand(): Promise<string> {
  const given = vscode.workspace.getConfiguration("hybridize").get<string>("path", "").trim();
  if (given) return given.replace(/^~(?=[/\\])/, process.env.HOME ?? "~");
  const interpreter = vscode.workspace.isTrusted ? await interpreterPath() : undefined;
  const beside = interpreter ? path.join(path.dirname(interpreter), NAME) : undefined;
  return beside && existsSync(beside) ? beside : NAME;
}

interface Environments {
  getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
  resolveEnvironment(path: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
  onDidChangeActiveEnvironmentPath?: vscode.Event<unknown>;
}

async function pythonEnvironments(): Promise<Environments | undefined> {
  const extension = vscode.extensions.getExtension<{ environments?: Environments }>("ms-python.python");
  if (!extension) return undefined;
  try {
    return (await extension.activate()).environments;
  } catch {
    return undefined; // it is broken, which it says itself
  }
}

async function interpreterPath(): Promise<string | undefined> {
  const python = await pythonEnvironments();
  if (!python) return undefined;
  const found = await python.resolveEnvironment(python.getActiveEnvironmentPath(vscode.workspace.workspaceFolders?.[0]?.uri));
  return found?.executable.uri?.fsPath;
}

async function convertAll(): Promise<void> {
  const document = vscode.window.activeTextEditor?.document.uri;
  const folder = document && vscode.workspace.getWorkspaceFolder(document);
  const uri = (folder?.uri ?? document)?.toString();
  try {
    await vscode.commands.executeCommand("hybridize.applyPlan", ...(uri ? [uri] : []));
  } catch (error) {
    void vscode.window.showInformationMessage(`hybridize: ${error instanceof Error ? error.message : String(error)}`);
  }
}
