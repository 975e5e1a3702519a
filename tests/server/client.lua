-- What a user of Neovim does: open a file, wait for diagnostics, edit, take a code action, save. Prints what it sees as JSON.
local out = {}
vim.o.hidden = true
vim.cmd("edit main.py")
local buffer = vim.api.nvim_get_current_buf()
local id = vim.lsp.start_client({
  name = "hybridize",
  cmd = vim.json.decode(vim.env.SERVER),
  root_dir = vim.fn.getcwd(),
  workspace_folders = { { uri = vim.uri_from_fname(vim.fn.getcwd()), name = "project" } },
  init_options = { delay = 50 },
})
vim.lsp.buf_attach_client(buffer, id)

local function diagnostics()
  local found = {}
  for _, each in ipairs(vim.diagnostic.get(buffer)) do
    table.insert(found, { each.lnum + 1, each.col + 1, each.code or each.user_data.lsp.code })
  end
  return found
end

local function wait(what, ready)
  assert(vim.wait(120000, ready, 50), "Neovim waited in vain: " .. what)
end

wait("diagnostics", function() return #diagnostics() > 0 end)
out.first = diagnostics()
out.encoding = vim.lsp.get_client_by_id(id).offset_encoding

-- A line above everything: what was found is one line further down.
vim.api.nvim_buf_set_lines(buffer, 0, 0, false, { "# by Neovim 😀" })
wait("moved diagnostics", function()
  local now = diagnostics()
  return #now == #out.first and now[1][1] == out.first[1][1] + 1
end)
out.moved = diagnostics()

local function ask(method, params)
  local answer = vim.lsp.buf_request_sync(buffer, method, params, 120000)[id]
  assert(answer.err == nil, vim.inspect(answer.err))
  return answer.result
end

local line = tonumber(vim.env.LINE)
local here = { textDocument = vim.lsp.util.make_text_document_params(buffer), position = { line = line, character = 8 } }
out.hover = ask("textDocument/hover", here).contents.value
local found = ask("textDocument/codeAction", {
  textDocument = here.textDocument,
  range = { start = here.position, ["end"] = here.position },
  context = { diagnostics = {} },
})
for _, action in ipairs(found) do
  if action.title:find("^Convert") then
    local resolved = ask("codeAction/resolve", action)
    vim.lsp.util.apply_workspace_edit(resolved.edit, vim.lsp.get_client_by_id(id).offset_encoding)
  end
end
vim.cmd("silent write")
wait("the conversion's diagnostic to go", function() return #diagnostics() < #out.first end)
io.stdout:write(vim.json.encode(out))
vim.lsp.stop_client(id)
vim.cmd("quitall!")
