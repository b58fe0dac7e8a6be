# ruby.rb - the Ruby kernel: Ruby's side of the protocol in sandbox/interpreter/kernel_wire.h.
#
# The loader (kernel_session.c) evaluates this text, an expression whose value is a class without a
# name, and serves the channel with an object of it. Cells are evaluated at the top level, in one
# binding. A process that waits for a fresh run becomes that run, as `ruby main.rb` would. Ruby 2.5
# and later.
Class.new do
  const_set :TEXT_MAX, 60 * 1024 # bytes of a value, of a message: the server cuts further, and says so
  # The value of a cell is not shown if its last statement, or the method that it calls, is one of these.
  const_set :SILENT, %i[assign massign opassign def defs class module sclass alias undef void_stmt
                        while until for].freeze
  const_set :SILENT_CALLS, %w[require require_relative load include p pp].freeze
  # In a fresh run neither are the values of these, which a program rarely ends with for their value.
  const_set :FRESH_SILENT, %i[if unless if_mod unless_mod while_mod until_mod rescue_mod begin].freeze
  const_set :FRESH_SILENT_CALLS, %w[each each_with_index each_pair each_key each_value each_entry each_slice each_cons
                                    each_char each_line reverse_each times upto downto step loop cycle tap open
                                    write syswrite printf at_exit trap].freeze

  define_method(:initialize) do |channel|
    @channel = channel
    @channel.close_on_exec = true
    @streams = [STDOUT.dup, STDERR.dup] # for marks: cells may redirect 1 and 2
    @pid = Process.pid
    @sigint = 'DEFAULT'
    @had_stdin = false
    @top = TOPLEVEL_BINDING
    STDOUT.sync = true
    order_streams
  end

  define_method(:serve) do
    ignore_sigint
    send_message('r', RUBY_VERSION)
    loop do
      type, size = @channel.read(5)&.unpack('aV')
      exit!(0) if size.nil?
      body = size.zero? ? '' : @channel.read(size)
      if type == 'R'
        run = decode_run(body)
        return become_run(run) unless run[:is_cell]

        run_cell(run)
      else
        @streams.each { |stream| stream.syswrite(body) }
      end
    end
  end

  private

  # The agent cannot tell which of two pipes was written to first, so a write to the one waits until
  # the agent has read the other (FIONREAD, for about 0.3 seconds at most). That is done for few changes
  # between the two in a cell, because an answer shows no more of them in their order, and not any more
  # after a wait that took long: then the client does not read.
  define_method(:order_streams) do
    last = nil
    left = 64
    is_read = lambda do |stream|
      300.times do |turn|
        unread = [0].pack('l')
        stream.ioctl(0x541b, unread)
        return true if unread.unpack1('l').zero?

        Kernel.sleep(turn < 20 ? 0.00005 : 0.001)
      end
      false
    rescue StandardError
      false # the cell has closed the stream, or it is no pipe
    end
    @begin_order = lambda do
      last = nil
      left = 64
    end
    wait_for = lambda do |stream|
      other, last = last, stream
      left = is_read.call(other) ? left - 1 : 0 if other && !other.equal?(stream) && left.positive?
    end
    order = Module.new do
      define_method(:write) do |*texts|
        wait_for.call(self)
        super(*texts)
      end
    end
    [STDOUT, STDERR].each { |stream| stream.extend(order) }
    # Kernel#warn does not call the method `write` of STDERR.
    Warning.extend(Module.new do
      define_method(:warn) do |*args, **options|
        wait_for.call(STDERR) if $stderr.equal?(STDERR)
        options.empty? ? super(*args) : super(*args, **options)
      end
    end)
  end

  define_method(:send_message) do |type, *fields|
    body = fields.map { |field| [field.to_s.b].map { |bytes| [bytes.bytesize].pack('V') + bytes } }.join
    @channel.write([type, body.bytesize].pack('aV') + body)
    @channel.flush
  end

  define_method(:decode_run) do |body|
    at = 0
    bytes = lambda do
      size = body.byteslice(at, 4).unpack1('V')
      at += 4 + size
      body.byteslice(at - size, size)
    end
    text = -> { bytes.call.force_encoding('UTF-8') }
    list = -> { Array.new(text.call.to_i) { text.call } }
    run = { is_cell: text.call == 'cell', name: text.call, cwd: text.call, code: text.call, has_stdin: text.call == '1', stdin: bytes.call }
    2.times { text.call } # the limits of pictures
    run.merge!(args: list.call, env: list.call.map { |line| line.split('=', 2) })
    run.merge(data_limit: at < body.bytesize ? text.call.to_i : nil)
  end

  # --- SIGINT

  define_method(:ignore_sigint) do
    handler = trap('INT', 'IGNORE')
    @sigint = handler unless handler.nil? || handler == 'IGNORE'
  rescue Interrupt
    retry
  end

  # Calls the block, which SIGINT interrupts. Returns the exception that it raised, or nil.
  define_method(:run_interruptible) do |&block|
    trap('INT', @sigint)
    block.call
    ignore_sigint
    nil
  rescue Exception => error # rubocop:disable Lint/RescueException
    error
  end

  # --- before and after a cell

  # Replaces descriptor 0 by a file with these bytes, whose name is removed at once.
  define_method(:set_stdin) do |run|
    if run[:has_stdin]
      path = "/tmp/.stdin-#{@pid}"
      File.open(path, File::WRONLY | File::CREAT | File::EXCL, 0o600) { |file| file.binmode.write(run[:stdin]) }
      STDIN.reopen(path, 'r')
      File.unlink(path)
    elsif @had_stdin
      STDIN.reopen(File::NULL, 'r')
    end
    @had_stdin = run[:has_stdin]
  end

  # Sets variables of the environment. Returns their names, values and former values.
  define_method(:set_env) do |pairs|
    pairs.map do |name, value|
      was = ENV[name]
      ENV[name] = value
      [name, value, was]
    end
  end

  # Restores variables, except those that the cell itself has changed.
  define_method(:restore_env) do |changed|
    changed.reverse_each { |name, value, was| ENV[name] = was if ENV[name] == value }
  end

  # --- values

  # The name of a method that a statement calls without a receiver, or nil.
  define_method(:called_name) do |statement|
    statement = statement[1] if statement[0] == :method_add_arg
    %i[command fcall].include?(statement[0]) ? statement[1][1] : nil
  end

  # The name of the method that a statement calls, with or without a receiver and a block, or nil.
  define_method(:method_name) do |statement|
    statement = statement[1] if statement[0] == :method_add_block
    statement = statement[1] if statement[0] == :method_add_arg
    name = statement[3] if %i[call command_call].include?(statement[0])
    name.is_a?(Array) ? name[1] : called_name(statement)
  end

  define_method(:is_shown) do |code|
    require 'ripper'
    last = Ripper.sexp(code)&.dig(1)&.last
    last && !self.class.const_get(:SILENT).include?(last[0]) &&
      !self.class.const_get(:SILENT_CALLS).include?(called_name(last)) &&
      !code.sub(/\s*(#[^\n]*)?\s*\z/, '').end_with?(';')
  rescue LoadError
    true
  end

  define_method(:is_shown_fresh) do |code, value|
    return false if value.is_a?(IO) || value.is_a?(Thread) || !is_shown(code)

    last = defined?(Ripper) ? Ripper.sexp(code)[1].last : []
    !self.class.const_get(:FRESH_SILENT).include?(last[0]) &&
      !self.class.const_get(:FRESH_SILENT_CALLS).include?(method_name(last))
  end

  define_method(:cut_text) do |text|
    text = text.to_s.dup
    text = text.force_encoding('UTF-8') if text.encoding == Encoding::BINARY
    text = text.encode('UTF-8', invalid: :replace, undef: :replace).scrub('?')
    max = self.class.const_get(:TEXT_MAX)
    return text if text.bytesize <= max

    "#{text.byteslice(0, max).scrub('')}\n... (#{text.bytesize - max} bytes more)"
  end

  define_method(:send_value) do |value|
    send_message('v', 'text/plain', cut_text(value.inspect), '')
  end

  # --- a cell

  # The memory limit may have changed since this process started.
  define_method(:set_data_limit) do |limit|
    Process.setrlimit(:DATA, limit, Process.getrlimit(:DATA)[1]) if limit
  rescue SystemCallError
    nil # without cgroups the limit cannot be raised
  end

  define_method(:evaluate) do |run|
    set_data_limit(run[:data_limit])
    Dir.chdir(run[:cwd]) unless run[:cwd].empty?
    set_stdin(run)
    ARGV.replace(run[:args]) unless run[:args].empty?
    $PROGRAM_NAME = run[:name] # for `if __FILE__ == $0`
    value = @top.eval(run[:code], run[:name], 1)
    return if value.nil? || Process.pid != @pid || !is_shown(run[:code])

    @top.local_variable_set(:_, value)
    send_value(value)
  end

  # Whether a line of a backtrace is in the program, and not in this kernel or its loader.
  define_method(:is_own_place) { |place| !place.start_with?('belljar:kernel', '-e:') }

  define_method(:describe_error) do |error|
    begin
      places = error.backtrace.to_a.select { |place| is_own_place(place) }
      error.set_backtrace(places)
      text = "#{error.message} (#{error.class})\n" # a syntax error has no places in the cell
      text = error.full_message(highlight: false, order: :top) unless places.empty?
    rescue StandardError
      text = "#{error.class} (its message cannot be shown)"
    end
    [error.class.name || error.class.inspect, error.message, text].map { |each| cut_text(each) }
  end

  define_method(:run_cell) do |run|
    changed = set_env(run[:env])
    @begin_order.call
    error = run_interruptible { evaluate(run) }
    ignore_sigint
    [$stdout, $stderr, STDOUT].each { |stream| stream.flush rescue nil } # rubocop:disable Style/RescueModifier
    leave_child(error) if Process.pid != @pid
    restore_env(changed)
    code = 0
    if error.is_a?(SystemExit) # ends the cell and not the session
      code = error.status & 255
    elsif error
      send_message('e', *describe_error(error))
      code = 1
    end
    send_message('x', code, 0, 0, 0, 0, 0)
  end

  # A forked child returned from the cell. It must exit here, and not serve the session.
  define_method(:leave_child) do |error|
    warn(describe_error(error).last) if error && !error.is_a?(SystemExit)
    exit!(error.is_a?(SystemExit) ? error.status : error ? 1 : 0)
  end

  # --- a fresh run

  # Saves the program in a directory of its own. Returns the path.
  define_method(:save_program) do |run|
    [File.dirname(run[:name]), run[:name]].each { |path| Dir.mkdir(path, 0o700) unless File.directory?(path) }
    path = File.join(run[:name], 'main.rb')
    File.open(path, File::WRONLY | File::CREAT | File::EXCL, 0o600) { |file| file.write(run[:code]) }
    path
  end

  # Behind a line __END__ a program has its data.
  define_method(:set_data) do |path, code|
    at = code.b.match(/^__END__\r?(\n|\z)/n)&.end(0)
    Object.const_set(:DATA, File.open(path).tap { |file| file.seek(at) }) if at
  end

  # The user's files are in the working directory, and the program is not. Those files find files
  # beside themselves, as always.
  define_method(:find_beside_program) do |path|
    @top.receiver.define_singleton_method(:require_relative) do |name|
      caller_path = caller_locations(1, 1)[0].absolute_path || path
      place = File.expand_path(name, caller_path == path ? Dir.pwd : File.dirname(caller_path))
      is_there = ['', '.rb', '.so'].any? { |extension| File.file?(place + extension) }
      raise LoadError, "cannot load such file -- #{place}", caller unless is_there

      require place
    end
  end

  # TOPLEVEL_BINDING.eval would raise an error for `return`, which ends a program.
  define_method(:evaluate_program) do |path, code|
    return RubyVM::InstructionSequence.compile_file(path).eval if defined?(RubyVM::InstructionSequence)

    @top.eval(code, path, 1)
  end

  # Ruby prints the backtraces of an error, and of the errors that caused it, when it exits.
  define_method(:clean_backtraces) do |error|
    seen = []
    while error && !seen.include?(error.object_id)
      seen << error.object_id
      error.set_backtrace(error.backtrace.to_a.select { |place| is_own_place(place) })
      error = error.cause
    end
  rescue StandardError
    nil # an error with methods of its own, or one that is frozen
  end

  define_method(:fail_program) do |error, path|
    clean_backtraces(error)
    raise error unless error.is_a?(SyntaxError) && error.backtrace.to_a.empty? && error.message.include?(path)

    warn(error.message) # the program itself cannot be parsed
    exit(1)
  end

  define_method(:show_program_value) do |value, code|
    send_value(value) if !value.nil? && Process.pid == @pid && is_shown_fresh(code, value)
  rescue StandardError
    nil # the value cannot be shown
  ensure
    @channel.close
  end

  define_method(:become_run) do |run|
    trap('INT', @sigint)
    path = save_program(run)
    set_data_limit(run[:data_limit])
    set_stdin(run)
    set_env(run[:env])
    Dir.chdir(run[:cwd]) unless run[:cwd].empty?
    ARGV.replace(run[:args])
    $PROGRAM_NAME = path
    set_data(path, run[:code])
    find_beside_program(path)
    begin
      value = evaluate_program(path, run[:code])
    rescue Exception => error # rubocop:disable Lint/RescueException
      fail_program(error, path)
    end
    show_program_value(value, run[:code])
  end
end
